# Data frames of pandas

_DTYPES: Final[dict[str, str]] = {"integer": "Int64", "bigint": "Int64", "number": "float64", "boolean": "boolean"}


def _data_frame(query: _Query, records: Iterable[dict[str, Any]]) -> Any:
    pandas = importlib.import_module("pandas")
    kinds: dict[str, str] = query.plan.columns if query.plan else {}
    columns: dict[str, list[Any]] = {name: [] for name in kinds}
    paths = [(name.split("."), name in kinds and kinds[name], values) for name, values in columns.items()]
    for record in records:
        for path, _, values in paths:
            value: Any = record
            for name in path:
                value = None if value is None else value[name]
            values.append(value)
    return pandas.DataFrame({name: _series(pandas, values, kinds[name]) for name, values in columns.items()})


def _series(pandas: Any, values: list[Any], kind: str) -> Any:
    if kind in ("datetime", "date"):
        # Offsets of several zones, and text that is not a time, stay text.
        with contextlib.suppress(ValueError):
            return pandas.to_datetime(pandas.Series(values, dtype="object"), format="ISO8601")
    if kind == "bigint":
        values = [None if value is None else int(value) for value in values]
    if kind == "decimal":
        values = [None if value is None else _decimal.Decimal(value) for value in values]
    return pandas.Series(values, dtype=_DTYPES.get(kind))
