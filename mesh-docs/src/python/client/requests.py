# Requests


def _conditions(if_match: str | None, prefer: str | None = None) -> dict[str, str]:
    """Returns the headers of a write."""
    return {name: value for name, value in (("If-Match", if_match), ("Prefer", prefer)) if value is not None}


class _Sender:
    """Signs and sends requests."""

    session: Session | None
    """The session that requests are signed with."""

    def __init__(self, transport: _Transport, session: Session | None, bearer: str | Callable[[], str] | None, persisted: bool, bound: bool) -> None:
        self.session = session
        self._transport = transport
        self._bearer = bearer
        self._token: str | None = None
        self._token_lock = threading.Lock()
        self._persisted = persisted
        self._bound = bound

    def _query(self, method: str, path: str, query: _Query, *, body: Any = None, headers: Mapping[str, str] | None = None) -> _Reply:
        more = headers or {}
        return self._by_id(query, lambda headers: self._send(method, path, headers={**headers, **more}, body=body))

    def _open_query(self, path: str, query: _Query, more: Mapping[str, str], timeout: float | None = None) -> _Opened:
        return self._by_id(query, lambda headers: self._open(path, {**headers, **more}, timeout=timeout))

    def _by_id(self, query: _Query, send: Callable[[dict[str, str]], T]) -> T:
        """Sends a request with a query in its headers. With query ids, an unknown query is registered first."""
        values = query.values
        params = {"X-Mesh-Params": _base64(_compact(values))} if values else {}
        if not self._has_id(query):
            return send({"X-Mesh-Query": _base64(query.text), **params})
        headers = {"X-Mesh-Query-Id": _query_id(query.text), **params}
        try:
            return send(headers)
        except MeshError as error:
            if error.code != "QUERY_ID_UNKNOWN":
                raise
        self._register(query)
        return send(headers)

    def _has_id(self, query: _Query) -> bool:
        # Queries with cursors are not registered, because each page is another query.
        return self._persisted and not query.has_cursor

    def _register(self, query: _Query) -> None:
        declared = {"params": query.declared} if query.declared else {}
        self._send("POST", "/queries", body={"query": query.text, "format": "json", **declared})

    def _send(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: Any = None,
        form: Callable[[], Iterable[bytes]] | None = None,
    ) -> _Reply:
        content = None if body is None else _compact(body).encode()
        given = {**(headers or {}), **({} if content is None else {"Content-Type": "application/json"})}

        def attempt(signed: dict[str, str]) -> _Reply | None:
            return self._transport.exchange(method, self._transport.path + path, signed, form() if form else content)

        return self._attempt(method, path, given, content, None, attempt)

    def _open(self, path: str, headers: Mapping[str, str], *, signed: str | None = None, timeout: float | None = None) -> _Opened:
        def attempt(complete: dict[str, str]) -> _Opened:
            return self._transport.open("GET", self._transport.path + path, complete, timeout)

        return self._attempt("GET", path, headers, None, signed, attempt)

    def _attempt(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        content: bytes | None,
        signed: str | None,
        attempt: Callable[[dict[str, str]], T | None],
    ) -> T:
        """Signs a request and sends it, again if its connection was closed, its bearer has expired or the server was busy."""
        renewed, retries = False, _RETRIES
        while True:
            complete = dict(headers)
            token = None if self.session is not None else self._bearer_token()
            if self.session is not None:
                self._sign(self.session, complete, method, path, content, signed)
            elif token is not None:
                complete["Authorization"] = f"Bearer {token}"
            reply: Any = attempt(complete)
            if reply is None:
                continue
            if reply.status < 400:
                answer: T = reply
                return answer
            if isinstance(reply, _Opened):
                reply = _read_all(reply)
            error = _refusal(reply.status, reply.headers, reply.body)
            if not renewed and self._renews(error, token):
                renewed = True
            elif retries and _may_retry(method, path, error):
                time.sleep(error.retry_after or 0)
                retries -= 1
            else:
                raise error

    def _bearer_token(self) -> str | None:
        if self._bearer is None or isinstance(self._bearer, str):
            return self._bearer
        with self._token_lock:
            if self._token is None:
                self._token = self._bearer()
            return self._token

    def _renews(self, error: MeshError, token: str | None) -> bool:
        """Drops a bearer that has expired. Returns whether there may be another one."""
        if token is None or self.session is not None or error.code != "TOKEN_EXPIRED" or not callable(self._bearer):
            return False
        with self._token_lock:
            # Another request may have dropped it already.
            if self._token == token:
                self._token = None
        return True

    def _sign(self, session: Session, headers: dict[str, str], method: str, path: str, content: bytes | None, signed: str | None) -> None:
        message = signed or headers.get("X-Mesh-Query") or headers.get("X-Mesh-Query-Id") or ""
        if content is not None:
            message += f"\n{hashlib.sha256(content).hexdigest()}"
        elif "X-Mesh-Params" in headers:
            message += f"\n{headers['X-Mesh-Params']}"
        if self._bound:
            timestamp, nonce = str(int(time.time())), secrets.token_hex(16)
            message += f"\n{method}\n{self._transport.path}{path}\njson\n{timestamp}\n{nonce}"
            headers["X-Mesh-Timestamp"] = timestamp
            headers["X-Mesh-Nonce"] = nonce
        digest = hmac.new(session.signing_token.encode(), message.encode(), hashlib.sha256).hexdigest()
        headers["X-Mesh-Token"] = session.token
        headers["X-Mesh-Signature"] = f"sha256={digest}"
