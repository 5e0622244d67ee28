# Connections


@dataclasses.dataclass
class _Reply:
    status: int
    headers: http.client.HTTPMessage
    body: bytes


class _Body(io.RawIOBase):
    """The body of a response that is read as it arrives. Closing it closes its connection."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse, sock: socket.socket) -> None:
        self._connection = connection
        self._response = response
        self._socket = sock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        try:
            data = self._response.read1(len(buffer))
        except http.client.HTTPException as error:
            raise ConnectionError("the response ended early") from error
        if not data and self._response.length:
            raise ConnectionError("the response ended early")
        buffer[: len(data)] = data
        return len(data)

    def abort(self) -> None:
        """Ends a read of another thread."""
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        if not self.closed:
            self._response.close()
            self._connection.close()
        super().close()


@dataclasses.dataclass
class _Opened:
    """A response whose body has not been read."""

    status: int
    headers: http.client.HTTPMessage
    body: _Body


class _Transport:
    """Connections to one server, kept for further requests."""

    def __init__(self, base: str, timeout: float, context: ssl.SSLContext | None) -> None:
        self._idle: list[tuple[http.client.HTTPConnection, int]] = []
        self._lock = threading.Lock()
        parts = urllib.parse.urlsplit(base.rstrip("/"))
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{base!r} is not the URL of a server, such as http://127.0.0.1:4000/mesh")
        self.path = parts.path
        self._timeout = timeout
        self._context = context
        self._address = parts

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def exchange(self, method: str, path: str, headers: dict[str, str], body: bytes | Iterable[bytes] | None) -> _Reply | None:
        """Sends a request and reads the response. Returns `None` if a kept connection was closed before a read."""
        connection, is_kept = self._take()
        try:
            response = _send(connection, method, path, headers, body)
            reply = _Reply(response.status, response.headers, response.read())
        except BaseException as error:
            connection.close()
            if is_kept and method == "GET" and isinstance(error, ConnectionError):
                return None
            if isinstance(error, http.client.HTTPException) and not isinstance(error, OSError):
                raise ConnectionError("the response ended early") from error
            raise
        # The server may have closed the connection with the response.
        if connection.sock is not None and (body is None or isinstance(body, bytes)):
            with self._lock:
                self._idle.append((connection, os.getpid()))
        else:
            connection.close()
        return reply

    def open(self, method: str, path: str, headers: dict[str, str], timeout: float | None = None) -> _Opened:
        """Sends a request over a connection of its own, whose response is read as it arrives."""
        connection = self._connect(timeout)
        try:
            connection.connect()
            sock: Any = connection.sock
            response = _send(connection, method, path, headers, None)
        except BaseException:
            connection.close()
            raise
        return _Opened(response.status, response.headers, _Body(connection, response, sock))

    def _connect(self, timeout: float | None = None) -> http.client.HTTPConnection:
        return _connection(self._address, timeout or self._timeout, self._context)

    def _take(self) -> tuple[http.client.HTTPConnection, bool]:
        while True:
            with self._lock:
                if not self._idle:
                    return self._connect(), False
                connection, process = self._idle.pop()
            # A forked process must not use the connections of its parent. A connection with something to read before
            # a request was closed by the server.
            if process == os.getpid() and not _is_readable(connection.sock):
                return connection, True
            connection.close()


def _connection(address: urllib.parse.SplitResult, timeout: float, context: ssl.SSLContext | None) -> http.client.HTTPConnection:
    host: Any = address.hostname
    if address.scheme == "https":
        return http.client.HTTPSConnection(host, address.port, timeout=timeout, context=context)
    return http.client.HTTPConnection(host, address.port, timeout=timeout)


def _is_readable(sock: socket.socket) -> bool:
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([sock], [], [], 0)[0])


def _send(
    connection: http.client.HTTPConnection, method: str, path: str, headers: dict[str, str], body: bytes | Iterable[bytes] | None
) -> http.client.HTTPResponse:
    try:
        connection.request(method, path, body, headers)
    except (BrokenPipeError, ConnectionResetError):
        # A server answers a request that it refuses before it has read the body.
        if body is None or isinstance(body, bytes):
            raise
    return connection.getresponse()


def _read_all(opened: _Opened) -> _Reply:
    with opened.body as body:
        return _Reply(opened.status, opened.headers, io.BufferedReader(body).read())
