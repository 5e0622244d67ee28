# Entities and relations


@dataclasses.dataclass(frozen=True)
class EntityInfo:
    """The names of an entity, written by the generator."""

    fields: Mapping[str, str]
    """The kind of each field, with `?` if its value can be null."""
    computed: Sequence[str] = ()
    files: Sequence[str] = ()
    one: Mapping[str, tuple[str, type[One[Any, Any]]]] = dataclasses.field(default_factory=lambda: {})
    many: Mapping[str, tuple[str, type[Many[Any, Any]]]] = dataclasses.field(default_factory=lambda: {})
    names: Mapping[str, str] = dataclasses.field(default_factory=lambda: {})
    """The names that are written in another way in Python."""
    plans: weakref.WeakKeyDictionary[type[Any], _Plan] = dataclasses.field(default_factory=lambda: weakref.WeakKeyDictionary())
    """The shapes that were compared with the entity."""

    @functools.cached_property
    def members(self) -> list[str]:
        """The names of fields, computed fields and relations."""
        return [*self.fields, *self.computed, *self.one, *self.many]

    @functools.cached_property
    def spellings(self) -> dict[str, str]:
        """The names of the schema by names of Python."""
        # Python reads names in their compatible form, in which the ligature of `fi` is two letters.
        named = [*((name, name) for name in self.members), *self.names.items()]
        return {unicodedata.normalize("NFKC", name): wire for name, wire in named}

    def wire(self, name: str) -> str:
        """Returns the name of the schema for a name of Python."""
        return self.spellings.get(name, name)

    def kind(self, name: str) -> str | None:
        """Returns the kind of a field, or `None` if there is no such field."""
        if name in self.computed:
            return "computed"
        kind = self.fields.get(name)
        return kind and kind.rstrip("?")

    def nearest(self, name: str) -> str:
        """Returns a hint at names that are like another one."""
        near = difflib.get_close_matches(name, self.members, 1)
        near = near or [other for other in self.members if other.lower() == name.lower()]
        return f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(self.members)}"


Schema = dict[str, EntityInfo]


class Fields(Generic[E]):
    """The fields of an entity, and its relations to one record, through which paths lead to further fields."""

    def __init__(self, schema: Schema, entity: str, root: str | None = None, path: tuple[str, ...] = ()) -> None:
        self._schema = schema
        self._key = entity
        self._root = root or entity
        self._path = path

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'.'.join((self._root, *self._path))}>"

    def __dir__(self) -> list[str]:
        info = self._schema[self._key]
        python = {wire: name for name, wire in info.spellings.items()}
        names = [name for name in info.members if not (self._path and name in info.many)]
        return [*super().__dir__(), *(python[name] for name in names)]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            member = self._member(name)
            self.__dict__[name] = member
            return member

    def _member(self, name: str) -> Any:
        info = self._schema[self._key]
        wire = info.wire(name)
        path = (*self._path, wire)
        if wire in info.one:
            target, relation = info.one[wire]
            return relation(self._schema, target, self._root, path)
        if wire in info.many and not self._path:
            target, many = info.many[wire]
            return many(self._schema, self._key, wire, target)
        kind = info.kind(wire)
        if kind is None:
            raise AttributeError(f"{self._key!r} has no field or relation {name!r}{info.nearest(name)}", name=name, obj=None)
        field = _FIELDS["file" if wire in info.files else kind]
        return field(wire, ".".join(path), self._root, self._key, kind)


class Selection(Generic[E, R_co]):
    """What is read of an entity: the members of a shape, or all fields."""

    _schema: Schema
    _key: str
    _shape: type[Any] | None = None

    def __init__(self, schema: Schema, entity: str, shape: type[Any] | None) -> None:
        self._schema = schema
        self._key = entity
        self._shape = shape
        _plan(schema, entity, shape)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._key} {self._shape.__name__ if self._shape else ''}>"


class RecordSelection(Selection[E, R_co]):
    """What is read of an entity whose records have an id."""


class Entity(Fields[E], Selection[E, R_co]):
    """An entity of the schema."""

    def __init__(self, schema: Schema, entity: str) -> None:
        Fields.__init__(self, schema, entity)  # pyright: ignore[reportUnknownMemberType]

    def select(self, shape: type[S]) -> Selection[E, S]:
        """Selects the members of a `TypedDict` or a dataclass, whose type the results have.

        A member has the name of a field, or of a relation and then the type of another shape. `Annotated` adds `alias`,
        `nested` and aggregates. Raises `ShapeError` if a member does not fit the schema.
        """
        return Selection(self._schema, self._key, shape)

    def _new(self, **fields: Any) -> New[R_co]:
        return New((self._key,), _wire_fields(self._schema[self._key], fields), self, None)


class RecordEntity(Entity[E, R_co], RecordSelection[E, R_co]):
    """An entity whose records have an id."""

    def select(self, shape: type[S]) -> RecordSelection[E, S]:
        """Selects the members of a shape, as the method of `Entity` does."""
        return RecordSelection(self._schema, self._key, shape)

    def _change(self, record: RecordId, /, **fields: Any) -> Change[R_co]:
        return Change((self._key, record), _wire_fields(self._schema[self._key], fields), self, None)


class DeletableEntity(RecordEntity[E, R_co]):
    """An entity whose records can be deleted."""


class Searchable(Fields[E]):
    """An entity whose records can be searched."""

    def search(self, text: str | Param) -> Condition[E]:
        """Accepts records that contain all words of the text. `"…"` is a phrase, `word*` a prefix, and `-` excludes what follows.

        `~` does not negate searches.
        """
        return Condition({"search": _json_value(text)}, self._key, _declared(text, "string"))


def _wire_fields(info: EntityInfo, fields: dict[str, Any]) -> dict[str, Any]:
    given = {info.wire(name): _json_value(value) for name, value in fields.items() if value is not UNSET}
    for name in given:
        if name not in info.fields:
            raise TypeError(f"there is no field {name!r}{info.nearest(name)}")
    return given


class One(Fields[E], Generic[E, R_co]):
    """A relation to at most one record."""

    _shape: type[Any] | None = None

    def select(self, shape: type[S]) -> One[E, S]:
        """Selects the members of a shape from the related record, for `connect`."""
        _plan(self._schema, self._key, shape)
        relation: One[E, S] = One(self._schema, self._key, self._root, self._path)
        relation._shape = shape
        return relation

    def some(self, where: Condition[Any] | None = None) -> Condition[E]:
        """Accepts records with a related record that the condition accepts."""
        *outer, name = self._path
        condition = _relation_condition(name, "some", where, self._key, self._root)
        for name in reversed(outer):
            condition = _relation_condition(name, "some", condition, self._root, self._root)
        return condition

    def none(self, where: Condition[Any] | None = None) -> Condition[E]:
        """Accepts records without a related record that the condition accepts."""
        *outer, name = self._path
        if outer:
            return ~self.some(where)
        return _relation_condition(name, "none", where, self._key, self._root)


def _relation_condition(name: str, op: str, where: Condition[Any] | None, target: str, entity: str) -> Condition[Any]:
    if where is None:
        return Condition({"relation": name, "op": op}, entity, {})
    _check_entity(where, target, "condition")
    return Condition({"relation": name, "op": op, "where": where._json}, entity, where._declared)


class Many(Generic[E, T]):
    """A relation to any number of records."""

    def __init__(self, schema: Schema, entity: str, name: str, target: str) -> None:
        self._schema = schema
        self._key = entity
        self._name = name
        self._target = target

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._key}.{self._name}>"

    def some(self, where: Condition[T] | None = None) -> Condition[E]:
        """Accepts records with a related record, or with one that the condition accepts."""
        return _relation_condition(self._name, "some", where, self._target, self._key)

    def none(self, where: Condition[T] | None = None) -> Condition[E]:
        """Accepts records without a related record, or without one that the condition accepts."""
        return _relation_condition(self._name, "none", where, self._target, self._key)

    def every(self, where: Condition[T]) -> Condition[E]:
        """Accepts records whose related records are all accepted by the condition."""
        return _relation_condition(self._name, "every", where, self._target, self._key)

    def count(self, field: Countable[T] | None = None, *, distinct: bool = False) -> RelationAggregate[E]:
        """The number of related records, or of values of a field, for orders."""
        return self._order(field.count(distinct=distinct) if field else count())

    def sum(self, field: Numeric[T], *, distinct: bool = False) -> RelationAggregate[E]:
        """The sum of a field of the related records, for orders."""
        return self._order(field.sum(distinct=distinct))

    def avg(self, field: Numeric[T], *, distinct: bool = False) -> RelationAggregate[E]:
        """The mean of a field of the related records, for orders."""
        return self._order(field.avg(distinct=distinct))

    def min(self, field: Ranged[T]) -> RelationAggregate[E]:
        """The lowest value of a field of the related records, for orders."""
        return self._order(field.min())

    def max(self, field: Ranged[T]) -> RelationAggregate[E]:
        """The highest value of a field of the related records, for orders."""
        return self._order(field.max())

    def _order(self, aggregate: Aggregate) -> RelationAggregate[E]:
        if aggregate.entity not in (None, self._target):
            raise ShapeError(f"{self!r} leads to {self._target!r}, not to {aggregate.entity!r}")
        folded = aggregate._json()
        return RelationAggregate({"relation": self._name, "aggregate": folded}, self._key, None)

    def _new(self, record: RecordId, /, **fields: Any) -> New[Any]:
        given = _wire_fields(self._schema[self._target], fields)
        selection: Selection[Any, Any] = Selection(self._schema, self._target, None)
        return New((self._key, record, self._name), given, selection, None)


class Links(Many[E, T]):
    """A relation whose links are records of a table between the two."""


class _Write(Generic[R_co]):
    def __init__(self, route: tuple[RecordId, ...], fields: dict[str, Any], source: Selection[Any, Any], shape: type[Any] | None) -> None:
        self._route = route
        self._fields = fields
        self._source = source
        self._shape = shape

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'/'.join(map(str, self._route))} {json.dumps(self._fields, ensure_ascii=False)}>"

    def _built(self, record: Any) -> Any:
        """Returns the record of a reply in its shape."""
        return record if self._shape is None else _single(self._source, None, self._shape).build(record)

    def _checked(self, shape: type[Any]) -> type[Any]:
        _plan(self._source._schema, self._source._key, shape)
        return shape


class New(_Write[R_co]):
    """A new record, for `create`."""

    def select(self, shape: type[S]) -> New[S]:
        """Selects the members of a shape from the record that is returned."""
        return New(self._route, self._fields, self._source, self._checked(shape))


class Change(_Write[R_co]):
    """Changes of a record, for `update`."""

    def select(self, shape: type[S]) -> Change[S]:
        """Selects the members of a shape from the record that is returned."""
        return Change(self._route, self._fields, self._source, self._checked(shape))
