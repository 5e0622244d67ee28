# Queries

_HEADER: Final = 8192
"""The maximum length of a query in a header; longer ones are posted."""


@dataclasses.dataclass
class _Query:
    """A query with the conversion of its results."""

    entity: str
    node: dict[str, Any]
    plan: _Plan | None
    declared: Declarations
    params: Mapping[str, Any]

    @property
    def text(self) -> str:
        return _compact({self.entity: self.node})

    @property
    def has_cursor(self) -> bool:
        page = self.node.get("$page", {})
        return isinstance(page.get("after", page.get("before")), str)

    @property
    def values(self) -> Mapping[str, Any]:
        """The values of all parameters, with the defaults."""
        return {**{name: declared["default"] for name, declared in self.declared.items()}, **self.params}

    def without_param(self, param: str) -> _Query:
        declared = {name: value for name, value in self.declared.items() if name != param}
        params = {name: value for name, value in self.params.items() if name != param}
        return dataclasses.replace(self, declared=declared, params=params)

    def build(self, record: Any) -> Any:
        build = None if self.plan is None else self.plan.build
        return record if record is None or build is None else build(record)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _collection(
    source: Selection[Any, Any],
    where: Condition[Any] | None,
    order_by: Order[Any] | Sequence[Order[Any]],
    having: Condition[Any] | None,
    distinct: bool,
    page: tuple[dict[str, Any], Declarations],
    params: Mapping[str, Any] | None,
) -> _Query:
    entity = source._key
    plan = _plan(source._schema, entity, source._shape)
    node = plan.node()
    declared = {**plan.declared, **_add_controls(node, entity, where, order_by, having), **page[1]}
    if distinct:
        node["$distinct"] = plan.keys
    if page[0]:
        node["$page"] = page[0]
    return _Query(entity, node, plan, declared, _params(params))


def _single(source: Selection[Any, Any] | One[Any, Any], params: Mapping[str, Any] | None = None, shape: type[Any] | None = None) -> _Query:
    entity = source._key
    plan = _plan(source._schema, entity, shape or source._shape)
    return _Query(entity, plan.node(), plan, plan.declared, _params(params))


def list_step(
    source: Selection[SameEntity, R],
    *,
    where: Condition[SameEntity] | None = None,
    order_by: Order[SameEntity] | Sequence[Order[SameEntity]] = (),
    first: int | Param | None = None,
    after: str | Param | None = None,
    last: int | Param | None = None,
    before: str | Param | None = None,
    skip: int | Param | None = None,
    total: bool = False,
    distinct: bool = False,
    having: Condition[SameEntity] | None = None,
    params: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> ReadStep[Page[R]]:
    """Returns the step of a batch that reads a page of a collection, as `Client.list` does."""
    page = _page_members(first=first, after=after, last=last, before=before, skip=skip, total=total)
    query = _collection(source, where, order_by, having, distinct, page, params)
    return _read_step(query, _route(query.entity), name, lambda reply: _page(reply, query))


def one_step(
    source: RecordSelection[Any, R], id: RecordId, *, params: Mapping[str, Any] | None = None, name: str | None = None
) -> ReadStep[R | None]:
    """Returns the step of a batch that reads a record, as `Client.one` does."""
    query = _single(source, params)
    return _read_step(query, _route(query.entity, id), name, query.build)


def _read_step(query: _Query, path: str, name: str | None, build: Callable[[Any], Any]) -> ReadStep[Any]:
    return ReadStep("GET", path, None, {query.entity: query.node}, name, None, query.values or None, _build=build)


def _params(params: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: _json_value(value) for name, value in (params or {}).items()}


def _page(reply: Any, query: _Query) -> Page[Any]:
    info = reply["pageInfo"]
    return Page(
        [query.build(item) for item in reply["items"]],
        info["hasNextPage"],
        info.get("hasPreviousPage"),
        info["startCursor"],
        info["endCursor"],
        info.get("totalCount"),
    )


def _route(*segments: RecordId | None) -> str:
    return "".join(f"/{_segment(segment)}" for segment in segments if segment is not None)


def _segment(segment: RecordId) -> str:
    if isinstance(segment, tuple):
        return ",".join(urllib.parse.quote(_text(part), safe="") for part in segment)
    # Commas in text stay, so that "1,2" is the id of two fields as well.
    return urllib.parse.quote(_text(segment), safe=",")


def _text(value: RecordId | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _query_id(text: str) -> str:
    return f"q_{hashlib.sha256(f'json{chr(0)}{text}'.encode()).hexdigest()[:32]}"


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _entity_id(id: RecordId) -> Any:
    return [_json_value(part) for part in id] if isinstance(id, tuple) else _json_value(id)


def _to_one(relation: One[Any, Any], id: RecordId) -> str:
    path = relation._path
    if len(path) != 1:
        raise TypeError(f"a write needs a relation of {relation._root!r} itself, not {'.'.join(path)!r}")
    return _route(relation._root, id, path[0])


def _to_many(relation: Many[Any, Any], id: RecordId, child: RecordId | None = None) -> str:
    return _route(relation._key, id, relation._name, child)


def _events(body: _Body) -> Iterator[dict[str, str]]:
    """Parses the events of a stream, each to its fields."""
    event: dict[str, str] = {}
    for raw in io.BufferedReader(body):
        line = raw.decode().rstrip("\r\n")
        if not line:
            yield event
            event = {}
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name:
            event[name] = f"{event[name]}\n{value}" if name == "data" and name in event else value
