# Shapes: selections from the annotations of classes


class ShapeError(TypeError):
    """A shape or a condition does not fit the schema."""


@dataclasses.dataclass(frozen=True)
class _Alias:
    name: str
    at: str | None = None
    """The JSON Pointer to a part of a field."""


@dataclasses.dataclass(frozen=True)
class _Nested:
    where: Condition[Any] | None
    order_by: Order[Any] | Sequence[Order[Any]]
    having: Condition[Any] | None
    first: int | Param | None
    last: int | Param | None
    skip: int | Param | None


def alias(of: str | Field[Any] | JsonPlace[Any] | One[Any, Any] | Many[Any, Any]) -> Any:
    """Gives a field or relation another name: `headline: Annotated[str, alias(post.title)]`.

    Selects a part of a field with JSON: `color: Annotated[str | None, alias(product.attributes.at("/color"))]`.
    """
    if isinstance(of, str):
        return _Alias(of)
    if isinstance(of, JsonPlace):
        return _Alias(of._subject["field"], of._subject["at"])
    if isinstance(of, One):
        return _Alias(of._path[-1])
    return _Alias(of._name)


def nested(
    *,
    where: Condition[Any] | None = None,
    order_by: Order[Any] | Sequence[Order[Any]] = (),
    having: Condition[Any] | None = None,
    first: int | Param | None = None,
    last: int | Param | None = None,
    skip: int | Param | None = None,
) -> Any:
    """Filters, orders and bounds the records of a list: `comments: Annotated[list[CommentItem], nested(first=3)]`."""
    return _Nested(where, order_by, having, first, last, skip)


@dataclasses.dataclass
class _Plan:
    """The selection of a shape, and how results are converted."""

    select: dict[str, Any]
    aggregates: dict[str, Any]
    keys: list[str | dict[str, Any]]
    """The fields and buckets of the selection, which are the keys of groups and of distinct items."""
    columns: dict[str, str]
    """The kinds of the columns of a table, by their names such as `author.name`."""
    build: Callable[[Any], Any] | None
    """Converts a result in place, or to an instance of the class."""
    declared: Declarations

    def node(self) -> dict[str, Any]:
        node: dict[str, Any] = {"$select": self.select}
        if self.aggregates:
            node["$aggregate"] = self.aggregates
            if self.keys:
                node["$groupBy"] = self.keys
        return node


def _plan(schema: Schema, entity: str, shape: type[Any] | None, outer: tuple[type[Any], ...] = ()) -> _Plan:
    info = schema[entity]
    if shape is None:
        fields = info.fields
        columns = {name: kind.rstrip("?") for name, kind in fields.items()}
        return _Plan(dict.fromkeys(fields, True), {}, list(fields), columns, None, {})
    plan = info.plans.get(shape)
    if plan is None:
        plan = info.plans[shape] = _read_shape(schema, entity, shape, outer)
    return plan


def _is_shape(hint: Any) -> bool:
    return typing.is_typeddict(hint) or (isinstance(hint, type) and dataclasses.is_dataclass(hint))


def _members(shape: type[Any]) -> dict[str, Any]:
    """Returns the annotations of a shape."""
    if not _is_shape(shape):
        raise ShapeError(f"{shape!r} is neither a TypedDict nor a dataclass")
    try:
        hints = typing.get_type_hints(shape, include_extras=True)
    except NameError as error:
        raise ShapeError(f"{shape.__name__}: {error}; move it to the top level of the module") from error
    if typing.is_typeddict(shape):
        return hints
    return {field.name: hints[field.name] for field in dataclasses.fields(shape) if field.init}


def _unwrapped(hint: Any) -> tuple[Any, list[Any]]:
    """Returns an annotation without `Annotated` and the like, and the notes of `Annotated`."""
    notes: list[Any] = []
    while True:
        if hasattr(hint, "__metadata__"):
            notes.extend(hint.__metadata__)
            hint = hint.__origin__
        elif getattr(typing.get_origin(hint), "_name", "") in ("Required", "NotRequired", "ReadOnly"):
            hint = typing.get_args(hint)[0]
        else:
            return hint, notes


def _alternatives(hint: Any) -> tuple[list[Any], bool]:
    """Returns the members of a union without `None`, and whether `None` is one of them."""
    if isinstance(hint, getattr(typing, "TypeAliasType", ())):
        return _alternatives(getattr(hint, "__value__"))
    if typing.get_origin(hint) not in (Union, types.UnionType):
        return ([] if hint is type(None) else [hint]), hint is type(None)
    members, has_none = list[Any](), False
    for part in typing.get_args(hint):
        inner, none = _alternatives(_unwrapped(part)[0])
        members += inner
        has_none = has_none or none
    return members, has_none


def _read_shape(schema: Schema, entity: str, shape: type[Any], outer: tuple[type[Any], ...]) -> _Plan:
    if shape in outer:
        raise ShapeError(f"{shape.__name__} contains itself; write one class for each level")
    info = schema[entity]
    plan = _Plan({}, {}, [], {}, None, {})
    builders: dict[str, Callable[[Any], Any]] = {}
    for name, annotation in _members(shape).items():
        where = f"{shape.__name__}.{name}"
        hint, notes = _unwrapped(annotation)
        folded = next((note for note in notes if isinstance(note, Aggregate)), None)
        period = next((note for note in notes if isinstance(note, Bucket)), None)
        alternatives, has_none = _alternatives(hint)
        if folded is not None:
            builder = _aggregated(where, entity, folded, alternatives, has_none)
            plan.aggregates[name] = folded._json()
            plan.columns[name] = folded.kind
        elif period is not None:
            if period.entity != entity:
                raise ShapeError(f"{where}: a bucket of {period.entity!r} is in a shape of {entity!r}")
            start = "datetime" if period.unit in ("hour", "minute") else "date"
            builder = _scalar(where, "a bucket", start, True, alternatives, has_none)
            plan.select[name] = True
            plan.keys.append(period._json(name))
            plan.columns[name] = start
        else:
            other = next((note for note in notes if isinstance(note, _Alias)), _Alias(name))
            target = other.name
            target = target if target in info.members else info.wire(target)
            nested = next((note for note in notes if isinstance(note, _Nested)), None)
            kind = info.kind(target)
            if kind is not None:
                if nested is not None:
                    raise ShapeError(f"{where}: nested() belongs to a list of records, and {target!r} is a field")
                can_be_null = info.fields.get(target, "").endswith("?")
                builder = _scalar(where, repr(target), kind, can_be_null, alternatives, has_none)
                part = {} if other.at is None else {"at": other.at}
                plan.select[name] = True if name == target and not part else {"$field": target, **part}
                plan.keys.append(target)
                plan.columns[name] = kind
            elif target in info.one or target in info.many:
                builder = _related(schema, plan, where, (name, target), info, (alternatives, has_none, nested), (*outer, shape))
            else:
                raise ShapeError(f"{where}: {entity!r} has no field or relation {target!r}{info.nearest(target)}")
        if builder is not None:
            builders[name] = builder
    if not plan.select and not plan.aggregates:
        raise ShapeError(f"{shape.__name__} has no members")
    plan.build = _builder(shape, builders)
    return plan


def _builder(shape: type[Any], builders: dict[str, Callable[[Any], Any]]) -> Callable[[Any], Any] | None:
    def convert(record: Any) -> Any:
        for name, build in builders.items():
            record[name] = build(record[name])
        return record

    if typing.is_typeddict(shape):
        return convert if builders else None
    return lambda record: shape(**convert(record))


def _related(
    schema: Schema,
    plan: _Plan,
    where: str,
    names: tuple[str, str],
    info: EntityInfo,
    annotation: tuple[list[Any], bool, _Nested | None],
    outer: tuple[type[Any], ...],
) -> Callable[[Any], Any] | None:
    name, target = names
    alternatives, has_none, nested = annotation
    is_one = target in info.one
    entity = info.one[target][0] if is_one else info.many[target][0]
    hint: Any = alternatives[0] if len(alternatives) == 1 else None
    is_list = typing.get_origin(hint) in (list, Sequence)
    shape: Any = typing.get_args(hint)[0] if is_list else hint
    if not _is_shape(shape):
        form = "Shape | None" if is_one else "list[Shape]"
        raise ShapeError(f"{where}: {target!r} is a relation; annotate {form} with a TypedDict or a dataclass of {entity!r}")
    inner = _plan(schema, entity, shape, outer)
    is_object = is_one or bool(inner.aggregates and not inner.keys)
    if is_list and is_object:
        what = "leads to one record" if is_one else "without keys of groups is one object"
        raise ShapeError(f"{where}: {target!r} {what}; annotate {shape.__name__}{' | None' if is_one else ''}")
    if not is_list and not is_object:
        raise ShapeError(f"{where}: {target!r} leads to many records; annotate list[{shape.__name__}]")
    if is_one and not has_none:
        raise ShapeError(f"{where}: {target!r} can be without a record; annotate {shape.__name__} | None")
    node = {**({} if name == target else {"$relation": target}), **inner.node()}
    if nested is not None:
        if is_one:
            raise ShapeError(f"{where}: nested() belongs to a list of records, and {target!r} leads to one")
        declared = _add_controls(node, entity, nested.where, nested.order_by, nested.having)
        page = _page_members(first=nested.first, last=nested.last, skip=nested.skip)
        node.update({"$page": page[0]} if page[0] else {})
        plan.declared.update(declared, **page[1])
    plan.select[name] = node
    plan.declared.update(inner.declared)
    if is_one:
        plan.columns.update({f"{name}.{column}": kind for column, kind in inner.columns.items()})
    else:
        plan.columns[name] = "json"
    build = inner.build
    if build is None:
        return None
    if is_list:
        return lambda records: [build(record) for record in records]
    return lambda record: None if record is None else build(record)


def _add_controls(
    node: dict[str, Any],
    entity: str,
    where: Condition[Any] | None,
    order_by: Order[Any] | Sequence[Order[Any]],
    having: Condition[Any] | None,
) -> Declarations:
    """Adds filters and an order to a node, and returns the declarations of their parameters."""
    declared: Declarations = {}
    for name, condition in (("$where", where), ("$having", having)):
        if condition is None:
            continue
        if not isinstance(condition, Condition):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{name[1:]} is {condition!r}; it needs a condition such as post.title.eq('…')")
        _check_entity(condition, entity, "condition")
        node[name] = condition._json
        declared.update(condition._declared)
    orders = [order_by] if isinstance(order_by, Order) else list(order_by)
    for order in orders:
        if not isinstance(order, Order):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"order_by has {order!r}; it needs entries such as post.title.asc()")
        _check_entity(order, entity, "order")
    if orders:
        node["$orderBy"] = [order._json for order in orders]
    return declared


def _page_members(**members: Any) -> tuple[dict[str, Any], Declarations]:
    """Returns `$page`, and the declarations of its parameters."""
    page: dict[str, Any] = {}
    declared: Declarations = {}
    for name, value in members.items():
        if value is not None and value is not False:
            page[name] = _json_value(value)
            declared.update(_declared(value, "integer" if name in ("first", "last", "skip") else "string"))
    return page, declared


# Values of fields

_PLAIN: Final[dict[str, tuple[type[Any], ...]]] = {
    "integer": (int, float),
    "number": (float,),
    "boolean": (bool,),
    "scalar": (str, int, float, bool),
}
"""The types that values have in JSON, by kind; those of other kinds are text."""


def _to_datetime(text: str) -> _datetime.datetime:
    # Python 3.10 reads neither `Z` nor fractions of other than 3 or 6 digits.
    text = text.replace("Z", "+00:00").replace("z", "+00:00")
    head, dot, rest = text.partition(".")
    if dot:
        digits = len(rest) - len(rest.lstrip("0123456789"))
        text = f"{head}.{rest[:digits][:6].ljust(6, '0')}{rest[digits:]}"
    # PostgreSQL writes offsets of whole hours without minutes.
    if len(text) > 19 and text[-3] in "+-":
        text += ":00"
    return _datetime.datetime.fromisoformat(text)


_CONVERTED: Final[dict[tuple[str, type[Any]], Callable[[Any], Any]]] = {
    ("bigint", int): int,
    ("decimal", _decimal.Decimal): _decimal.Decimal,
    ("decimal", float): float,
    ("datetime", _datetime.datetime): _to_datetime,
    ("date", _datetime.date): _datetime.date.fromisoformat,
    ("uuid", _uuid.UUID): _uuid.UUID,
    ("binary", bytes): base64.b64decode,
}
"""The types that values are converted to when a shape has them."""


def _scalar(where: str, what: str, kind: str, can_be_null: bool, types: list[Any], has_none: bool) -> Callable[[Any], Any] | None:
    """Returns the conversion of a field to the type of its annotation, `None` if there is nothing to convert."""
    if any(hint is Any or hint is object for hint in types):
        return None
    if can_be_null and not has_none and kind != "json":
        raise ShapeError(f"{where}: {what} can be null; annotate {_names(types)} | None")
    plain = _PLAIN.get(kind, (str,))
    if kind == "json" or any(hint in plain for hint in types) or (kind == "scalar" and not types):
        return None
    for hint in types:
        if typing.get_origin(hint) is Literal and all(isinstance(value, plain) for value in typing.get_args(hint)):
            return None
        convert = _CONVERTED.get((kind, hint))
        if convert is None and isinstance(hint, type) and issubclass(hint, enum.Enum):
            convert = hint
        if convert is not None:
            return _converted(where, convert)
    allowed = [*plain[:1], *(target for of, target in _CONVERTED if of == kind)]
    raise ShapeError(f"{where}: {what} is of the kind {kind!r}, which has values of {_names(allowed)}, not of {_names(types)}")


def _converted(where: str, convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def converted(value: Any) -> Any:
        if value is None:
            return None
        try:
            return convert(value)
        except (ValueError, TypeError, ArithmeticError) as error:
            raise ValueError(f"{where}: the value {value!r} cannot be converted: {error}") from error

    return converted


def _aggregated(where: str, entity: str, folded: Aggregate, types: list[Any], has_none: bool) -> Callable[[Any], Any] | None:
    if folded.entity not in (None, entity):
        raise ShapeError(f"{where}: an aggregate of {folded.entity!r} is in a shape of {entity!r}")
    return _scalar(where, f"{folded.fn}()", folded.kind, folded.fn != "count", types, has_none)


def _names(types: Iterable[Any]) -> str:
    return " or ".join(getattr(hint, "__name__", str(hint)) for hint in types) or "None"
