

Thing = TypedDict(
    "Thing",
    {
        "id": "int | None",
        "s": "str | None",
        "i": "int | None",
        "big": "str | None",
        "n": "float | None",
        "b": "bool | None",
        "at": "str | None",
        "day": "str | None",
        "j": "Any",
        "bytes": "str | None",
        "u": "str | None",
        "d": "str | None",
        "unknown": "str | int | float | bool | None",
        "not plain": "str | int | float | bool | None",
    },
)
"""A record of `thing`."""


class ThingFields(mesh.Fields[E]):
    """The fields of `thing`."""

    id: mesh.IntegerField[E]
    s: mesh.FileField[E]
    i: mesh.IntegerField[E]
    big: mesh.BigintField[E]
    n: mesh.NumberField[E]
    b: mesh.BooleanField[E]
    at: mesh.DatetimeField[E]
    day: mesh.DateField[E]
    j: mesh.JsonField[E]
    bytes: mesh.BinaryField[E]
    u: mesh.UuidField[E]
    d: mesh.DecimalField[E]
    unknown: mesh.ScalarField[E]
    not_plain: mesh.ScalarField[E]
    label: mesh.ComputedField[E]


class ThingEntity(ThingFields["ThingEntity"], mesh.RecordEntity["ThingEntity", Thing]):
    """The entity `thing`."""

    def change(
        self,
        _id: mesh.RecordId,
        /,
        *,
        id: int | None = mesh.UNSET,
        s: str | None = mesh.UNSET,
        i: int | None = mesh.UNSET,
        big: int | str | None = mesh.UNSET,
        n: float | None = mesh.UNSET,
        b: bool | None = mesh.UNSET,
        at: mesh.DatetimeValue | None = mesh.UNSET,
        day: mesh.DateValue | None = mesh.UNSET,
        j: Any = mesh.UNSET,
        bytes: mesh.BytesValue | None = mesh.UNSET,
        u: mesh.UuidValue | None = mesh.UNSET,
        d: mesh.DecimalValue | None = mesh.UNSET,
        unknown: mesh.Scalar | None = mesh.UNSET,
        not_plain: mesh.Scalar | None = mesh.UNSET,
    ) -> mesh.Change[Thing]:
        """Returns changes of a record, for `update`."""
        return self._change(
            _id,
            id=id,
            s=s,
            i=i,
            big=big,
            n=n,
            b=b,
            at=at,
            day=day,
            j=j,
            bytes=bytes,
            u=u,
            d=d,
            unknown=unknown,
            not_plain=not_plain,
        )


_schema: mesh.Schema = {
    "thing": mesh.EntityInfo(
        fields={"id": "integer?", "s": "string?", "i": "integer?", "big": "bigint?", "n": "number?", "b": "boolean?", "at": "datetime?", "day": "date?", "j": "json?", "bytes": "binary?", "u": "uuid?", "d": "decimal?", "unknown": "scalar?", "not plain": "scalar?"},
        computed=("label",),
        files=("s",),
        names={"not_plain": "not plain"},
    ),
}

thing = ThingEntity(_schema, "thing")
