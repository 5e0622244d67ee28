# Results


@dataclasses.dataclass(frozen=True)
class Page(Generic[R_co]):
    """A page of a collection. Iterating over it yields its items."""

    items: list[R_co]
    has_next_page: bool
    has_previous_page: bool | None
    """`None` unless the page was read with `last`."""
    start_cursor: str | None
    end_cursor: str | None
    total_count: int | None = None
    """The number of records on all pages, of a read with `total=True`."""

    def __iter__(self) -> Iterator[R_co]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> R_co:
        return self.items[index]


@dataclasses.dataclass(frozen=True)
class Session:
    """A session, which can be stored and used by another client."""

    token: str
    signing_token: str
    expires_at: int
    """Milliseconds since 1970."""


@dataclasses.dataclass(frozen=True)
class Uploaded:
    """A stored file."""

    key: str
    """The storage key, which is the value of the field."""
    content_hash: str
    size: int
    content_type: str
    url: str
    record: Mapping[str, Any]
    """All members of the reply, with the id of a record that was created."""


@dataclasses.dataclass(frozen=True)
class Step:
    """A read or a write of a batch. `$name.field` in `path`, `params` and `body` stands for a field of an earlier result."""

    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    """The path below the base path, such as `/post/7`."""
    body: Mapping[str, Any] | None = None
    query: Mapping[str, Any] | None = None
    """The query of a read, or the one that shapes the result of a write, such as `{"post": {"$select": {"id": True}}}`."""
    name: str | None = None
    """The name of the result."""
    query_id: str | None = None
    """The id of a registered query, in place of the query of a read."""
    params: Mapping[str, Any] | None = None
    """The values of the parameters of a read's query."""

    def _json(self) -> dict[str, Any]:
        query = None if self.query is None else _compact(self.query)
        body = None if self.body is None else _json_value(self.body)
        members: dict[str, Any] = {"method": self.method, "path": self.path, "body": body, "query": query, "queryId": self.query_id}
        members |= {"params": self.params, "as": self.name}
        return {name: value for name, value in members.items() if value is not None}

    def _built(self, body: Any) -> Any:
        return body


@dataclasses.dataclass(frozen=True)
class ReadStep(Step, Generic[R_co]):
    """A read of a batch, made by `list_step` or `one_step`."""

    _build: Callable[[Any], Any] = dataclasses.field(kw_only=True, repr=False, compare=False)

    def _built(self, body: Any) -> Any:
        return self._build(body)


@dataclasses.dataclass(frozen=True)
class StepResult:
    """The result of a step."""

    status: int
    body: Any = None
    """The JSON of its reply, if it has one; for a `ReadStep`, the page or record in its shape."""


class StepResults(list[StepResult]):
    """The results of a batch, in the order of its steps."""

    def __init__(self, steps: Sequence[Step], results: Iterable[dict[str, Any]]) -> None:
        super().__init__(StepResult(result["status"], step._built(result.get("body"))) for step, result in zip(steps, results))
        self._steps = steps

    def of(self, step: ReadStep[R]) -> R:
        """Returns what a step of the batch has read."""
        for other, result in zip(self._steps, self):
            if other is step:
                read: R = result.body
                return read
        raise KeyError("the step is none of this batch")


class File(io.BufferedReader):
    """A stored file, to be read and closed."""

    def __init__(self, body: _Body, headers: http.client.HTTPMessage) -> None:
        super().__init__(body, 1 << 16)
        self.headers = headers

    @property
    def content_type(self) -> str:
        """The type that was declared in the upload."""
        return self.headers.get("Content-Type", "application/octet-stream")


class _Stop:
    """Ends a stream from any thread."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.body: _Body | None = None

    def reading(self, body: _Body) -> _Body:
        self.body = body
        # The stream may have been stopped while it connected.
        if self.event.is_set():
            body.abort()
        return body

    def stop(self) -> None:
        self.event.set()
        if self.body is not None:
            self.body.abort()


class Stream(Generic[R_co]):
    """Records as they arrive. `close` ends the iteration, from any thread, and so does the end of a `with` block."""

    def __init__(self, records: Callable[[_Stop], Generator[R_co, None, None]]) -> None:
        self._stop = _Stop()
        self._records = records(self._stop)

    def __iter__(self) -> Iterator[R_co]:
        return self

    def __next__(self) -> R_co:
        try:
            return next(self._records)
        except (OSError, ValueError):
            if self._stop.event.is_set():
                raise StopIteration from None
            raise

    def __enter__(self) -> Stream[R_co]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the iteration and closes the connection."""
        self._stop.stop()
        # Another thread may be reading; it closes the connection then.
        with contextlib.suppress(ValueError):
            self._records.close()
