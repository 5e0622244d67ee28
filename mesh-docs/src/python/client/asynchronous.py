# The asynchronous client


def _awaited(call: Callable[Concatenate[Client, P], T]) -> Callable[Concatenate[AsyncClient, P], Awaitable[T]]:
    """Runs a method in a thread."""

    @functools.wraps(call)
    async def awaited(self: AsyncClient, /, *args: P.args, **named: P.kwargs) -> T:
        return await asyncio.to_thread(call, self.client, *args, **named)

    return awaited


def _iterated(
    call: Callable[Concatenate[Client, P], Iterator[T] | Stream[T]], batch: int
) -> Callable[Concatenate[AsyncClient, P], AsyncGenerator[T, None]]:
    """Iterates in a thread of its own, so that waiting streams do not use up the threads of other calls."""

    @functools.wraps(call)
    async def iterated(self: AsyncClient, /, *args: P.args, **named: P.kwargs) -> AsyncGenerator[T, None]:
        loop, thread = asyncio.get_running_loop(), ThreadPoolExecutor(1)
        records = call(self.client, *args, **named)
        try:
            while items := await loop.run_in_executor(thread, lambda: list(itertools.islice(records, batch))):
                for item in items:
                    yield item
        finally:
            if isinstance(records, Stream):
                records.close()
            thread.shutdown(wait=False)

    return iterated


class AsyncClient:
    """A client for `asyncio`, with the methods of `Client`.

    Each call runs in a thread (`asyncio.to_thread`), and each stream in one of its own. The arguments are those of
    `Client`; a function for `bearer` is called in a thread, too. What `file` and `export_csv` open is read without `await`.
    """

    client: Client
    """The client that the calls run on."""

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
        self.client = Client(
            base,
            session=session,
            bearer=bearer,
            persisted=persisted,
            bound=bound,
            files=files,
            timeout=timeout,
            context=context,
        )

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.client.close()

    @property
    def session(self) -> Session | None:
        """The session that requests are signed with."""
        return self.client.session

    close = _awaited(Client.close)
    login = _awaited(Client.login)
    logout = _awaited(Client.logout)
    list = _awaited(Client.list)
    one = _awaited(Client.one)
    tagged = _awaited(Client.tagged)
    query = _awaited(Client.query)
    register = _awaited(Client.register)
    to_pandas = _awaited(Client.to_pandas)
    export_csv = _awaited(Client.export_csv)
    create = _awaited(Client.create)
    create_all = _awaited(Client.create_all)
    update = _awaited(Client.update)
    upsert = _awaited(Client.upsert)
    delete = _awaited(Client.delete)
    batch = _awaited(Client.batch)
    connect = _awaited(Client.connect)
    disconnect = _awaited(Client.disconnect)
    attach = _awaited(Client.attach)
    remove = _awaited(Client.remove)
    upload = _awaited(Client.upload)
    file = _awaited(Client.file)
    call = _awaited(Client.call)

    pages = _iterated(Client.pages, 1)
    items = _iterated(Client.items, 1)
    export = _iterated(Client.export, 500)
    watch = _iterated(Client.watch, 1)
