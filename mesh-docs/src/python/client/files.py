# Forms and stored files


@contextlib.contextmanager
def _seekable(file: bytes | BinaryIO) -> Generator[BinaryIO, None, None]:
    """Returns a file that can be read twice: for its hash, which the request begins with, and for its content."""
    if isinstance(file, bytes):
        yield io.BytesIO(file)
    elif file.seekable() and file.tell() == 0:
        yield file
    else:
        with tempfile.SpooledTemporaryFile(1 << 20) as copy:
            while chunk := file.read(1 << 16):
                copy.write(chunk)
            yield typing.cast("BinaryIO", copy)


def _digest(file: BinaryIO) -> tuple[int, str]:
    """Returns the size and the hash of a file."""
    file.seek(0)
    size, digest = 0, hashlib.sha256()
    while chunk := file.read(1 << 16):
        size += len(chunk)
        digest.update(chunk)
    return size, digest.hexdigest()


def _multipart(boundary: str, parts: Sequence[tuple[str, bytes]], name: str, content_type: str) -> tuple[bytes, bytes]:
    """Returns what comes before and after the content of a file in a form."""
    quoted = name.replace("\\", "_").replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
    head = b"".join(f"--{boundary}\r\nContent-Disposition: {kind}\r\n\r\n".encode() + content + b"\r\n" for kind, content in parts)
    disposition = f'form-data; name="file"; filename="{quoted}"'
    head += f"--{boundary}\r\nContent-Disposition: {disposition}\r\nContent-Type: {content_type}\r\n\r\n".encode()
    return head, f"\r\n--{boundary}--\r\n".encode()


def _follow(location: str, headers: dict[str, str], timeout: float) -> _Opened:
    """Opens a file at the store that the server names, without credentials."""
    address = urllib.parse.urlsplit(location)
    transport = _Transport(f"{address.scheme}://{address.netloc}", timeout, None)
    opened = transport.open("GET", urllib.parse.urlunsplit(("", "", address.path, address.query, "")), headers)
    if opened.status >= 400:
        reply = _read_all(opened)
        raise _refusal(reply.status, reply.headers, reply.body)
    return opened
