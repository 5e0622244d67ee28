# The client


class Client(_Sender):
    """A client of a server. It can be used by several threads at once.

    `base` is the URL of the server with its base path, such as `http://127.0.0.1:4000/mesh`.

    - `session`: the initial session, such as one of an earlier `login`.
    - `bearer`: a token of an issuer, or an API key, that identifies the caller of requests without a session; or a
      function that returns one, which is called again when the server says that the token has expired.
    - `persisted`: reads by query ids, and registers queries that the server does not know.
    - `bound`: binds signatures to method, path and time, so that they are invalid for other requests. Servers accept
      writes with unbound signatures only if their `integrity.binding` is `off`, which needs `False`.
    - `files`: the path segment of stored files, if the server is configured with another one.
    - `timeout`: the seconds to wait for a connection, and for each part of a response.
    - `context`: the settings of TLS, by default `ssl.create_default_context()`.
    """

    def __init__(
        self,
        base: str,
        *,
        session: Session | None = None,
        bearer: str | Callable[[], str] | None = None,
        persisted: bool = False,
        bound: bool = True,
        files: str = "files",
        timeout: float = 30.0,
        context: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(_Transport(base, timeout, context), session, bearer, persisted, bound)
        self._timeout = timeout
        self._files = files

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections. The session remains valid."""
        self._transport.close()

    def login(self, /, **credentials: Any) -> Session:
        """Logs in, or without credentials exchanges the bearer for a session. Subsequent requests are signed."""
        self.session = None
        reply = json.loads(self._send("POST", "/auth", body=credentials).body)
        self.session = Session(reply["token"], reply["signingToken"], reply["expiresAt"])
        return self.session

    def logout(self) -> None:
        """Ends the session, on all servers."""
        if self.session is not None:
            self._send("POST", "/logout")
        self.session = None

    # Reads

    def list(
        self,
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
    ) -> Page[R]:
        """Reads a page of a collection.

        `source` is an entity, for all its fields, or `entity.select(Shape)`. The page is the `first` records, after
        the cursor `after` or after `skip` records, or the `last` records, before the cursor `before`; by default it has
        50 records. With `total`, the page has the number of all records. With `distinct`, items with equal values are
        read once. `having` filters the groups of a group shape. `params` are the values of the query's parameters.
        """
        page = _page_members(first=first, after=after, last=last, before=before, skip=skip, total=total)
        query = _collection(source, where, order_by, having, distinct, page, params)
        return _page(self._read(query), query)

    def pages(
        self,
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
    ) -> Iterator[Page[R]]:
        """Reads pages one after the other: with `first` records each, or from the end with `last` records each."""
        page = _page_members(first=first, after=after, last=last, before=before, skip=skip, total=total)
        query = _collection(source, where, order_by, having, distinct, page, params)
        return self._pages(query, "after" if last is None else "before")

    def items(
        self,
        source: Selection[SameEntity, R],
        *,
        where: Condition[SameEntity] | None = None,
        order_by: Order[SameEntity] | Sequence[Order[SameEntity]] = (),
        first: int | Param | None = None,
        after: str | Param | None = None,
        last: int | Param | None = None,
        before: str | Param | None = None,
        skip: int | Param | None = None,
        distinct: bool = False,
        having: Condition[SameEntity] | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Iterator[R]:
        """Reads the items of all pages, and requests each page when it is needed.

        Pages have `first` records. With `last`, they have so many, and the items come from the last one to the first.
        """
        page = _page_members(first=first, after=after, last=last, before=before, skip=skip)
        query = _collection(source, where, order_by, having, distinct, page, params)
        pages = self._pages(query, "after" if last is None else "before")
        return (item for page in pages for item in (page.items if last is None else reversed(page.items)))

    def one(self, source: RecordSelection[Any, R], id: RecordId, *, params: Mapping[str, Any] | None = None) -> R | None:
        """Reads a record. Returns `None` if it does not exist."""
        query = _single(source, params)
        record: R | None = query.build(self._read(query, id))
        return record

    def tagged(self, source: RecordSelection[Any, R], id: RecordId) -> tuple[R | None, str]:
        """Reads a record with its entity tag, for `if_match` of a write with the same shape."""
        query = _single(source)
        reply = self._query("GET", _route(query.entity, id), query)
        return query.build(json.loads(reply.body)), reply.headers["ETag"]

    def export(
        self,
        source: Selection[SameEntity, R],
        *,
        where: Condition[SameEntity] | None = None,
        order_by: Order[SameEntity] | Sequence[Order[SameEntity]] = (),
        distinct: bool = False,
        having: Condition[SameEntity] | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Stream[R]:
        """Reads all records of one snapshot with one request. Needs a server with `export.enabled`.

        An export that ends early raises `ConnectionError`.
        """
        query = _collection(source, where, order_by, having, distinct, ({}, {}), params)
        return Stream(lambda stop: self._exported(query, stop))

    def export_csv(
        self,
        source: Selection[SameEntity, Any],
        *,
        where: Condition[SameEntity] | None = None,
        order_by: Order[SameEntity] | Sequence[Order[SameEntity]] = (),
        distinct: bool = False,
        having: Condition[SameEntity] | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> io.TextIOWrapper:
        """Opens all records of one snapshot as CSV, for `csv.DictReader`, `pandas.read_csv` or `shutil.copyfileobj`.

        Needs a server with `export.enabled`. An export that ends early raises `ConnectionError`.
        """
        query = _collection(source, where, order_by, having, distinct, ({}, {}), params)
        body = self._export(query, "text/csv")
        return io.TextIOWrapper(io.BufferedReader(body, 1 << 16), "utf-8", newline="")

    def to_pandas(
        self,
        source: Selection[SameEntity, Any],
        *,
        where: Condition[SameEntity] | None = None,
        order_by: Order[SameEntity] | Sequence[Order[SameEntity]] = (),
        distinct: bool = False,
        having: Condition[SameEntity] | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Any:
        """Reads all records into a `pandas.DataFrame`, with a type for each column.

        The fields of a to-one relation are columns such as `author.name`. Exports if the server has `export.enabled`,
        else reads page after page. Needs pandas 2 or later.
        """
        query = _collection(source, where, order_by, having, distinct, ({}, {}), params)
        return _data_frame(query, self._records(query))

    def watch(
        self,
        source: RecordSelection[Any, R],
        id: RecordId,
        *,
        params: Mapping[str, Any] | None = None,
        trouble: Callable[[MeshError], object] | None = None,
    ) -> Stream[R | None]:
        """Yields a record at the start and after each change, and `None` if it does not exist.

        Reconnects after a lost connection. `trouble` is called with the errors of reads in between.
        """
        query = _single(source, params)
        return Stream(lambda stop: self._watched(query, id, stop, trouble))

    def query(self, query: Mapping[str, Any], id: RecordId | None = None, *, params: Mapping[str, Any] | None = None) -> Any:
        """Sends a query as it is, such as `{"post": {"$select": {"title": True}}}`, and returns the JSON of the reply.

        With an id, this is the record or `None`; else it has `items` and `pageInfo`.
        """
        [(entity, node)] = query.items()
        return self._read(_Query(entity, dict(node), None, {}, _params(params)), id)

    def register(
        self,
        source: Selection[SameEntity, Any],
        *,
        where: Condition[SameEntity] | None = None,
        order_by: Order[SameEntity] | Sequence[Order[SameEntity]] = (),
        first: int | Param | None = None,
        last: int | Param | None = None,
        total: bool = False,
        distinct: bool = False,
        having: Condition[SameEntity] | None = None,
    ) -> str:
        """Registers the query of a collection with the declarations of its parameters, and returns its id."""
        page = _page_members(first=first, last=last, total=total)
        query = _collection(source, where, order_by, having, distinct, page, None)
        self._register(query)
        return _query_id(query.text)

    # Writes

    def create(self, new: New[R]) -> R:
        """Creates a record, as in `client.create(post.new(title="…"))`, and returns it."""
        record: R = self._write("POST", new)
        return record

    def create_all(self, records: Iterable[New[R]]) -> builtins.list[R]:
        """Creates records of one entity, all or none, and returns them in this order. The shape is that of the first one."""
        first, *others = records
        if len(first._route) > 1 or any(other._route != first._route for other in others):
            raise TypeError("records that are created together are of one entity, and of no relation")
        fields = [record._fields for record in (first, *others)]
        return [first._built(record) for record in self._written("POST", first, fields)]

    def update(self, change: Change[R], *, if_match: str | None = None) -> R:
        """Updates a record, as in `client.update(post.change(1, title="…"))`, and returns it.

        With a tag of `tagged` for the same shape, or `*` for any, a record that has changed or is missing is refused.
        """
        record: R = self._write("PUT", change, if_match=if_match)
        return record

    def upsert(self, change: Change[R]) -> R:
        """Updates a record as `update` does, or creates it with these fields and this id if there is none."""
        record: R = self._write("PUT", change, prefer="resolution=merge-duplicates")
        return record

    def delete(self, entity: DeletableEntity[Any, Any], id: RecordId, *, if_match: str | None = None, shape: type[Any] | None = None) -> None:
        """Deletes a record. A tag for `if_match` is one of `tagged` for all fields, or for the shape."""
        headers = _conditions(if_match)
        if if_match is None:
            self._send("DELETE", _route(entity._key, id))
        else:
            self._query("DELETE", _route(entity._key, id), _single(entity, None, shape), headers=headers)

    def batch(self, steps: Iterable[Step]) -> StepResults:
        """Runs steps in one transaction, in this order. The first one that fails undoes all. Reads alone are of one snapshot.

        `of` returns what a step of `list_step` or `one_step` has read: `client.batch([posts, author]).of(posts)`.
        """
        steps = builtins.list(steps)
        reply = self._send("POST", "/batch", body={"steps": [step._json() for step in steps]})
        return StepResults(steps, json.loads(reply.body)["results"])

    def connect(self, relation: One[Any, R], id: RecordId, other: RecordId) -> R:
        """Sets the record of a to-one relation, as in `client.connect(post.author, 1, 2)`, and returns it."""
        query = _single(relation)
        reply = self._query("PUT", _to_one(relation, id), query, body={"entityId": _entity_id(other)})
        record: R = query.build(json.loads(reply.body))
        return record

    def disconnect(self, relation: One[Any, Any], id: RecordId) -> None:
        """Clears a to-one relation."""
        self._send("DELETE", _to_one(relation, id))

    def attach(self, relation: Links[Any, Any], id: RecordId, other: RecordId) -> None:
        """Links two records of a many-to-many relation."""
        self._send("POST", _to_many(relation, id), body={"entityId": _entity_id(other)})

    def remove(self, relation: Many[Any, Any], id: RecordId, child: RecordId) -> None:
        """Deletes a child of a record; of a many-to-many relation, only the link."""
        self._send("DELETE", _to_many(relation, id, child))

    # Files

    def upload(
        self,
        field: FileField[Any],
        id: RecordId | None,
        file: bytes | BinaryIO | os.PathLike[str],
        *,
        name: str | None = None,
        content_type: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Uploaded:
        """Uploads a file to a field of a record, or creates a record with it if the id is `None`.

        `file` is bytes, a file that is open for reading bytes, or a path. `meta` has further fields of the record.
        The type is by default that of the name. Files are never held in memory as a whole.
        """
        if isinstance(file, os.PathLike):
            with open(file, "rb") as opened:
                return self.upload(field, id, opened, name=name, content_type=content_type, meta=meta)
        name = name or os.path.basename(str(getattr(file, "name", "file")))
        content_type = content_type or mimetypes.guess_type(name)[0] or "application/octet-stream"
        with _seekable(file) as content:
            return self._upload(field, id, content, (name, content_type), meta)

    def file(self, key: str, *, headers: Mapping[str, str] | None = None) -> File:
        """Opens a stored file by its storage key, which is the value of a field that takes files."""
        opened = self._open(f"/{self._files}/{key}", dict(headers or {}), signed=key)
        if opened.status in (301, 302, 303, 307, 308):
            opened.body.close()
            opened = _follow(opened.headers["Location"], dict(headers or {}), self._timeout)
        return File(opened.body, opened.headers)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Sends any other request below the base path, signed in a session, for routes of the application."""
        reply = self._send(method, path, body=body)
        return json.loads(reply.body) if reply.body else None

    # What the methods above have in common

    def _read(self, query: _Query, id: RecordId | None = None) -> Any:
        if not self._has_id(query):
            text, values = query.text, query.values
            if len(_base64(text + _compact(values))) > _HEADER:
                params = {"params": values} if values else {}
                record = {} if id is None else {"id": _entity_id(id)}
                return json.loads(self._send("POST", "", body={"query": text, **record, **params}).body)
        return json.loads(self._query("GET", _route(query.entity, id), query).body)

    def _pages(self, query: _Query, key: str) -> Iterator[Page[Any]]:
        # A parameter of the cursor has its value in each request, so that the query is always the same.
        start = query.node.get("$page", {}).get(key)
        name: str | None = start["$param"] if isinstance(start, dict) else None
        while True:
            page = _page(self._read(query), query)
            yield page
            backward = key == "before"
            if not (page.has_previous_page if backward else page.has_next_page):
                return
            cursor = page.start_cursor if backward else page.end_cursor
            if name is not None:
                query = dataclasses.replace(query, params={**query.params, name: cursor})
            else:
                members = {**query.node.get("$page", {}), key: cursor}
                skip = members.pop("skip", None)
                query = dataclasses.replace(query, node={**query.node, "$page": members})
                # The server refuses the value of a parameter that only `skip` has used.
                if isinstance(skip, dict) and _compact(skip) not in query.text:
                    query = query.without_param(skip["$param"])

    def _export(self, query: _Query, accept: str) -> _Body:
        opened = self._open_query(_route(query.entity), query, {"Accept": accept})
        if opened.headers.get_content_type() != accept:
            opened.body.close()
            message = "The server has no exports; set export.enabled, or use items()"
            raise MeshError(opened.status, {"error": "Unsupported", "message": message})
        return opened.body

    def _exported(self, query: _Query, stop: _Stop) -> Generator[Any, None, None]:
        with stop.reading(self._export(query, "application/x-ndjson")) as body:
            for line in io.BufferedReader(body, 1 << 16):
                yield query.build(json.loads(line))

    def _records(self, query: _Query) -> Iterator[dict[str, Any]]:
        """Yields all records as they are in JSON."""
        raw = dataclasses.replace(query, plan=None)
        try:
            yield from Stream(lambda stop: self._exported(raw, stop))
        except MeshError as error:
            if error.kind != "Unsupported":
                raise
            for page in self._pages(raw, "after"):
                yield from page.items

    def _watched(
        self, query: _Query, id: RecordId, stop: _Stop, trouble: Callable[[MeshError], object] | None
    ) -> Generator[Any, None, None]:
        last, wait = "", 2.0
        while not stop.event.is_set():
            headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
            try:
                # A comment line of the server shows every 15 seconds that the stream is alive.
                opened = self._open_query(_route(query.entity, id, "events"), query, headers, max(self._timeout, 45))
                with stop.reading(opened.body) as body:
                    for event in _events(body):
                        last = event.get("id", last)
                        wait = float(event.get("retry", wait * 1000)) / 1000
                        if event.get("event") == "error":
                            error = MeshError(opened.status, json.loads(event["data"]))
                            if (error.code or "").startswith("TOKEN_") and not self._renews(error, self._token):
                                raise error
                            if trouble is not None:
                                trouble(error)
                        elif "data" in event:
                            yield query.build(json.loads(event["data"]))
            except MeshError as error:
                # Other refusals are permanent.
                if error.status < 500 and error.status != 429:
                    raise
            except OSError:
                pass
            stop.event.wait(wait)

    def _write(self, method: str, write: _Write[Any], *, if_match: str | None = None, prefer: str | None = None) -> Any:
        headers = _conditions(if_match, prefer)
        return write._built(self._written(method, write, write._fields, headers))

    def _written(self, method: str, write: _Write[Any], body: Any, headers: Mapping[str, str] | None = None) -> Any:
        path = _route(*write._route)
        # A tag is that of a query, also if it is the one for all fields.
        if write._shape is None and "If-Match" not in (headers or {}):
            return json.loads(self._send(method, path, headers=headers, body=body).body)
        query = _single(write._source, None, write._shape)
        return json.loads(self._query(method, path, query, body=body, headers=headers).body)

    def _upload(
        self, field: FileField[Any], id: RecordId | None, content: BinaryIO, names: tuple[str, str], meta: Mapping[str, Any] | None
    ) -> Uploaded:
        name, content_type = names
        wire, entity = field._name, field._owner
        size, digest = _digest(content)
        stated = {"contentHash": f"sha256:{digest}", "contentType": content_type}
        parts: list[tuple[str, bytes]] = []
        if meta is not None:
            text = _compact(_json_value(meta)).encode()
            stated["metaHash"] = f"sha256:{hashlib.sha256(text).hexdigest()}"
            parts.append(('form-data; name="meta"', text))
        statement = _base64(_compact({entity: {wire: {"upload": True}}, **stated}))
        boundary = secrets.token_hex(16)
        head, tail = _multipart(boundary, parts, name, content_type)
        headers = {
            "X-Mesh-Query": statement,
            "Content-Type": f"multipart/form-data; boundary={boundary}",
            "Content-Length": str(len(head) + size + len(tail)),
        }

        def body() -> Iterator[bytes]:
            content.seek(0)
            chunks = iter(lambda: content.read(1 << 16), b"")
            return itertools.chain([head], chunks, [tail])

        path = _route(entity) if id is None else _route(entity, id, wire)
        reply = json.loads(self._send("POST", path, headers=headers, form=body).body)
        return Uploaded(reply[wire], reply["contentHash"], reply["size"], reply["contentType"], reply["url"], reply)
