# Conditions, orders and aggregates


@dataclasses.dataclass(frozen=True)
class Param:
    """A parameter in place of a value, which calls have in `params`."""

    name: str
    default: Any = UNSET


def param(name: str, default: Any = UNSET) -> Param:
    """Stands for a value that is sent beside the query.

    Queries that differ in such values only are one query for the server: they share a plan and an id. The default is
    sent unless `params` has a value.
    """
    return Param(name, default)


Declarations = dict[str, dict[str, Any]]
"""The declarations of parameters with a default, by name."""


def _declared(value: object, kind: str | None) -> Declarations:
    if not isinstance(value, Param) or value.default is UNSET:
        return {}
    declared = {} if kind is None or kind == "scalar" else {"type": kind}
    return {value.name: {**declared, "default": _json_value(value.default)}}


def _json_value(value: Any) -> Any:
    """Returns the JSON form of a value of a condition or a field."""
    if isinstance(value, Param):
        return {"$param": value.name}
    if isinstance(value, enum.Enum):
        return _json_value(value.value)
    if isinstance(value, (_datetime.date, _datetime.datetime)):
        return value.isoformat()
    if isinstance(value, (_decimal.Decimal, _uuid.UUID)):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        members: dict[Any, Any] = value
        return {str(name): _json_value(member) for name, member in members.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        elements: Collection[Any] = value
        return [_json_value(element) for element in elements]
    return value


class Condition(Generic[E]):
    """A condition on records of an entity. `&`, `|` and `~` combine conditions."""

    __slots__ = ("_declared", "_entity", "_json")

    def __init__(self, json: dict[str, Any], entity: str | None, declared: Declarations) -> None:
        self._json = json
        self._entity = entity
        self._declared = declared

    def __and__(self, other: Condition[E]) -> Condition[E]:
        return self._joined("and", other)

    def __or__(self, other: Condition[E]) -> Condition[E]:
        return self._joined("or", other)

    def __invert__(self) -> Condition[E]:
        return Condition({"not": self._json}, self._entity, self._declared)

    def __bool__(self) -> NoReturn:
        raise TypeError("join conditions with & and |, and negate them with ~, in place of and, or, not")

    def __repr__(self) -> str:
        return f"<Condition {json.dumps(self._json, ensure_ascii=False)}>"

    def _joined(self, how: str, other: Condition[E]) -> Condition[E]:
        entity = self._entity or other._entity
        _check_entity(other, entity, "condition")
        parts = [part for side in (self._json, other._json) for part in side.get(how, [side])]
        return Condition({how: parts}, entity, {**self._declared, **other._declared})


class Order(Generic[E]):
    """An entry of an order."""

    __slots__ = ("_entity", "_json")

    def __init__(self, subject: dict[str, Any], entity: str | None, direction: str | None, nulls: str | None) -> None:
        self._json = {**subject, **({"direction": direction} if direction else {}), **({"nulls": nulls} if nulls else {})}
        self._entity = entity

    def __repr__(self) -> str:
        return f"<Order {json.dumps(self._json, ensure_ascii=False)}>"


Nulls = Literal["first", "last"]


def _check_entity(part: Condition[Any] | Order[Any], entity: str | None, what: str) -> None:
    # Types rule this out; notebooks are rarely checked.
    if part._entity is not None and entity is not None and part._entity != entity:
        raise ShapeError(f"a {what} on {part._entity!r} is used in a selection of {entity!r}")


class Operand(Generic[E]):
    """What a condition compares: a field, a place in a JSON document, or an aggregate."""

    def __init__(self, subject: dict[str, Any], entity: str | None, kind: str | None) -> None:
        self._subject = subject
        self._entity = entity
        self._kind = kind

    def is_null(self) -> Condition[E]:
        """Accepts records without a value."""
        return Condition({**self._subject, "op": "isNull"}, self._entity, {})

    def is_not_null(self) -> Condition[E]:
        """Accepts records with a value."""
        return Condition({**self._subject, "op": "isNotNull"}, self._entity, {})

    def _test(self, op: str, value: Any) -> Condition[E]:
        if value is None:
            raise TypeError("compare with None by is_null() or is_not_null()")
        declared = _declared(value, self._kind)
        if op in ("in", "nin", "hasAny", "hasAll") and not isinstance(value, Param):
            if isinstance(value, str):
                raise TypeError("in_, not_in, has_any and has_all need a list of values, not a text")
            value = list(value)
            for member in value:
                declared.update(_declared(member, self._kind))
        return Condition({**self._subject, "op": op, "value": _json_value(value)}, self._entity, declared)


class Equality(Operand[E], Generic[E, V]):
    """An operand whose values can be equal."""

    def eq(self, value: V | Param) -> Condition[E]:
        """Accepts records with this value."""
        return self._test("eq", value)

    def ne(self, value: V | Param) -> Condition[E]:
        """Accepts records with another value, but not those without one."""
        return self._test("ne", value)

    def in_(self, values: Collection[V | Param] | Param) -> Condition[E]:
        """Accepts records with one of the values."""
        return self._test("in", values)

    def not_in(self, values: Collection[V | Param] | Param) -> Condition[E]:
        """Accepts records with none of the values, but not those without a value."""
        return self._test("nin", values)


class Ordering(Equality[E, V]):
    """An operand whose values have an order."""

    def gt(self, value: V | Param) -> Condition[E]:
        """Accepts records with a greater value."""
        return self._test("gt", value)

    def gte(self, value: V | Param) -> Condition[E]:
        """Accepts records with this value or a greater one."""
        return self._test("gte", value)

    def lt(self, value: V | Param) -> Condition[E]:
        """Accepts records with a lower value."""
        return self._test("lt", value)

    def lte(self, value: V | Param) -> Condition[E]:
        """Accepts records with this value or a lower one."""
        return self._test("lte", value)


class Matching(Operand[E]):
    """An operand whose values are text."""

    def like(self, pattern: str | Param) -> Condition[E]:
        """Accepts text of a form: `%` is any text, `_` one character, and `\\` takes the next character as it is."""
        return self._test("like", pattern)

    def ilike(self, pattern: str | Param) -> Condition[E]:
        """Like `like`, without regard to upper and lower case."""
        return self._test("ilike", pattern)


class Containing(Operand[E]):
    """An operand whose values can be JSON arrays."""

    def has(self, value: Scalar | Param) -> Condition[E]:
        """Accepts an array with an element that equals the value."""
        return self._test("has", value)

    def has_any(self, values: Collection[Scalar | Param] | Param) -> Condition[E]:
        """Accepts an array with an element that equals one of the values, which have one type."""
        return self._test("hasAny", values)

    def has_all(self, values: Collection[Scalar | Param] | Param) -> Condition[E]:
        """Accepts an array in which each of the values, which have one type, equals an element."""
        return self._test("hasAll", values)


class JsonPlace(Ordering[E, Scalar], Matching[E], Containing[E]):
    """A place in a JSON document."""


class Sorting(Operand[E]):
    """An operand that records can be ordered by."""

    def asc(self, *, nulls: Nulls = "last") -> Order[E]:
        """Orders by ascending values."""
        return Order(self._subject, self._entity, "asc", "first" if nulls == "first" else None)

    def desc(self, *, nulls: Nulls = "last") -> Order[E]:
        """Orders by descending values."""
        return Order(self._subject, self._entity, "desc", "first" if nulls == "first" else None)


class AggregateName(Ordering[Any, Scalar], Matching[Any], Sorting[Any]):
    """An aggregate of a group shape, in `having` and `order_by`."""


def aggregate(name: str) -> AggregateName:
    """Refers to a member of a group shape by its name, in `having` and `order_by`."""
    return AggregateName({"aggregate": name}, None, None)


class BucketName(Ordering[Any, str], Matching[Any], Sorting[Any]):
    """A bucket of a group shape, in `having` and `order_by`."""


def bucket(name: str) -> BucketName:
    """Refers to a bucket of a group shape by its name, in `having` and `order_by`."""
    return BucketName({"field": name}, None, "string")


@dataclasses.dataclass(frozen=True)
class Bucket:
    """A key of a group shape that is a period of time, as in `Annotated[str | None, post.created_at.by("month")]`."""

    field: str
    unit: str
    zone: str | None
    entity: str

    def _json(self, name: str) -> dict[str, Any]:
        return {"field": self.field, "by": self.unit, "as": name, **({"zone": self.zone} if self.zone else {})}


def relevance() -> Order[Any]:
    """Orders by how well records match the search of `where`, the best first. It is the first key."""
    return Order({"search": "relevance"}, None, None, None)


class RelationAggregate(Sorting[E]):
    """An aggregate of the related records, which records can be ordered by."""


@dataclasses.dataclass(frozen=True)
class Aggregate:
    """A member of a group shape, as in `Annotated[int, count()]` or `Annotated[float | None, post.score.avg()]`."""

    fn: str
    field: str | None = None
    entity: str | None = None
    kind: str = "integer"
    distinct: bool = False

    def _json(self) -> dict[str, Any]:
        distinct = {"distinct": True} if self.distinct else {}
        return {"fn": self.fn, **({"field": self.field} if self.field else {}), **distinct}


def count() -> Aggregate:
    """Counts the records of a group."""
    return Aggregate("count")
