# The fields of an entity, by kind

DayUnit = Literal["year", "quarter", "month", "week", "day"]
"""The length of a period of days."""


class Field(Operand[E]):
    """A field of an entity, or of a record that to-one relations lead to."""

    def __init__(self, name: str, path: str, root: str, entity: str, kind: str) -> None:
        super().__init__({"field": path}, root, kind)
        self._name = name
        self._owner = entity

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._entity}.{self._subject['field']}>"

    def _aggregate(self, fn: str, kind: str | None = None, distinct: bool = False) -> Aggregate:
        if self._subject["field"] != self._name:
            raise TypeError(f"aggregates take fields of {self._entity!r} itself, not {self._subject['field']!r}")
        return Aggregate(fn, self._name, self._owner, kind or self._kind or "scalar", distinct)

    def _bucket(self, unit: str, zone: str | None = None) -> Bucket:
        if self._subject["field"] != self._name:
            raise TypeError(f"buckets take fields of {self._entity!r} itself, not {self._subject['field']!r}")
        return Bucket(self._name, unit, zone, self._owner)


class ComputedField(Field[E]):
    """A computed field, for `alias`. It cannot be compared."""

    if not TYPE_CHECKING:
        is_null = is_not_null = None


class Countable(Field[E]):
    """A field whose values can be counted."""

    def count(self, *, distinct: bool = False) -> Aggregate:
        """Counts the values of a group, or with `distinct` the different ones."""
        return self._aggregate("count", "integer", distinct)


class Ranged(Field[E]):
    """A field with a lowest and a highest value."""

    def min(self) -> Aggregate:
        """The lowest value of a group; `None` without values."""
        return self._aggregate("min")

    def max(self) -> Aggregate:
        """The highest value of a group; `None` without values."""
        return self._aggregate("max")


class Numeric(Ranged[E]):
    """A field with numbers."""

    def sum(self, *, distinct: bool = False) -> Aggregate:
        """The sum of the values of a group; `None` without values."""
        return self._aggregate("sum", distinct=distinct)

    def avg(self, *, distinct: bool = False) -> Aggregate:
        """The mean of the values of a group; `None` without values."""
        return self._aggregate("avg", "number", distinct)


class StringField(Ordering[E, str], Matching[E], Sorting[E], Ranged[E], Countable[E]):
    """A field with text."""


class FileField(StringField[E]):
    """A field that takes files. Its value is the storage key of the file."""


class IntegerField(Ordering[E, int], Sorting[E], Numeric[E], Countable[E]):
    """A field with integers."""


class BigintField(Ordering[E, Union[int, str]], Sorting[E], Numeric[E], Countable[E]):
    """A field with 64-bit integers, which are text in results."""


class NumberField(Ordering[E, float], Sorting[E], Numeric[E], Countable[E]):
    """A field with numbers."""


class DecimalField(Ordering[E, DecimalValue], Sorting[E], Numeric[E], Countable[E]):
    """A field with decimal numbers, which are text in results."""


class BooleanField(Equality[E, bool], Sorting[E], Countable[E]):
    """A field with `True` and `False`."""


class DatetimeField(Ordering[E, DatetimeValue], Sorting[E], Ranged[E], Countable[E]):
    """A field with times, which are ISO 8601 text in results."""

    @overload
    def by(self, unit: DayUnit, *, zone: str | None = None) -> Bucket: ...
    @overload
    def by(self, unit: Literal["hour", "minute"]) -> Bucket: ...
    def by(self, unit: str, *, zone: str | None = None) -> Bucket:
        """The period of time in which the value falls, as a key of groups: the first day of the period as text, or the
        first instant of an hour or a minute. Periods begin in UTC or in an IANA time zone."""
        return self._bucket(unit, zone)


class DateField(Ordering[E, DateValue], Sorting[E], Ranged[E], Countable[E]):
    """A field with dates, which are ISO 8601 text in results."""

    def by(self, unit: DayUnit) -> Bucket:
        """The period of time in which the day falls, as a key of groups: the first day of the period as text."""
        return self._bucket(unit)


class UuidField(Equality[E, UuidValue], Sorting[E], Countable[E]):
    """A field with UUIDs."""


class JsonField(Countable[E], Containing[E]):
    """A field with JSON documents."""

    def at(self, pointer: str) -> JsonPlace[E]:
        """Returns the place of a JSON Pointer, such as `/tags/0`, for conditions on the value there and for `alias`."""
        return JsonPlace({**self._subject, "at": pointer}, self._entity, None)


class BinaryField(Sorting[E], Countable[E]):
    """A field with bytes, which are base64 text in results."""


class ScalarField(Ordering[E, Scalar], Matching[E], Sorting[E], Numeric[E], Countable[E]):
    """A field whose kind the schema does not state."""


_FIELDS: Final[dict[str, type[Field[Any]]]] = {
    "string": StringField,
    "file": FileField,
    "integer": IntegerField,
    "bigint": BigintField,
    "number": NumberField,
    "decimal": DecimalField,
    "boolean": BooleanField,
    "datetime": DatetimeField,
    "date": DateField,
    "uuid": UuidField,
    "json": JsonField,
    "binary": BinaryField,
    "scalar": ScalarField,
    "computed": ComputedField,
}
