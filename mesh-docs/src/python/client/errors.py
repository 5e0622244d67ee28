# Errors


@dataclasses.dataclass(frozen=True)
class FieldError:
    """A field of a write that is at fault."""

    path: str
    """Its name in the body of the write, in a list after the index of the record, such as `7.title`."""
    message: str


class MeshError(Exception):
    """An error reply of the server. Connections that fail raise `OSError` instead."""

    status: int
    kind: str
    """The class of the error, such as `ValidationError`."""
    message: str
    code: str | None
    path: str | None
    """The position in the query, such as `post.comments.author`."""
    line: int | None
    column: int | None
    step: int | None
    """The step of a batch that failed, counted from 0."""
    fields: Sequence[FieldError]
    """The fields of a write that are at fault."""
    effect: str | None
    """What became of a write: `none` if nothing was written, `applied` if it is in effect, `unknown` if it may be."""
    request_id: str | None
    """The id under which the log of the server has the request."""
    retry_after: float | None
    """The seconds after which the request may be sent again."""
    body: Mapping[str, Any]
    """All members of the reply."""

    def __init__(self, status: int, body: Mapping[str, Any], retry_after: float | None = None) -> None:
        self.status = status
        self.kind = str(body.get("error", "Error"))
        self.message = str(body.get("message", f"The server answered {status}"))
        self.code = body.get("code")
        self.path = body.get("path")
        self.line = body.get("line")
        self.column = body.get("column")
        self.step = body.get("step")
        self.fields = [FieldError(field["path"], field["message"]) for field in body.get("fields", ())]
        self.effect = body.get("effect")
        self.request_id = body.get("requestId")
        self.retry_after = retry_after
        self.body = body
        super().__init__(status, body, retry_after)

    def __str__(self) -> str:
        place = f", at {self.path}" if self.path else ""
        return f"{self.message} ({self.status} {self.code or self.kind}{place})"


def _refusal(status: int, headers: http.client.HTTPMessage, body: bytes) -> MeshError:
    try:
        members = json.loads(body)
    except ValueError:
        members = {}
    wait = headers.get("Retry-After", "")
    return MeshError(status, members if isinstance(members, dict) else {}, float(wait) if wait.isdigit() else None)  # pyright: ignore[reportUnknownArgumentType]
