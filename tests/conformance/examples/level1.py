#!/usr/bin/env python3
"""A level 1 server of the Mesh protocol, written from SPEC.md with nothing but the standard library.

It keeps the rows of the conformance fixture in memory and reads records and plain lists of them. It has no
controls ($where, $orderBy, $page and so on), so it claims level 1 and no more.

    python3 level1.py [PORT]
"""

import base64
import binascii
import json
import pathlib
import re
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote_to_bytes

FIXTURE = pathlib.Path(__file__).resolve().parent.parent / "fixture"
BASE = "/mesh"
DEPTH, FIELDS, RELATIONS, QUERY_BYTES, BODY_BYTES, HEADER_BYTES = 10, 1000, 200, 65536, 1048576, 32768
CONTROLS = ["$select", "$where", "$orderBy", "$page", "$distinct", "$groupBy", "$aggregate", "$having"]
HEADERS = ["x-mesh-query", "x-mesh-query-id", "x-mesh-format", "x-mesh-signature", "x-mesh-token",
           "x-mesh-timestamp", "x-mesh-nonce"]


class Refused(Exception):
    """A failure as the client is told of it (SPEC §12.1)."""

    def __init__(self, status, error, message, headers=None, **more):
        super().__init__(message)
        self.status, self.headers = status, headers or {}
        self.body = {"error": error, "message": message, **more}


def transport(message, status=400):
    return Refused(status, "TransportError", message)


def invalid(message, **more):
    return Refused(400, "ValidationError", message, **more)


# --- what there is (SPEC §6) ---

class Schema:
    def __init__(self):
        document = json.loads((FIXTURE / "schema.json").read_text())
        data = json.loads((FIXTURE / "data.json").read_text())
        self.tables = {}
        for table in data["tables"]:
            names = [column["name"] for column in table["columns"]]
            self.tables[table["table"]] = [dict(zip(names, row)) for row in table["rows"]]
        self.entities, self.joins = {}, {}
        for key, entity in document["entities"].items():
            table = entity.get("table") or (key if key.endswith("s") else key + "s")
            columns = {field: entity.get("columns", {}).get(field, field) for field in entity["fields"]}
            self.entities[key] = {"table": table, "columns": columns, "id": entity.get("idField", "id")}
            # The file has 64-bit integers as text; only fields of the type bigint are sent so.
            numbers = [columns[field] for field, type in entity.get("types", {}).items() if type == "integer"]
            for row in self.tables[table]:
                row.update({name: int(row[name]) for name in numbers if row[name] is not None})
        for name, join in document["joins"].items():
            parent, ref = name.split(".")
            self.joins.setdefault(parent, {})[ref] = join

    def related(self, parent, ref, row):
        """The rows of a relation, for the row of a parent."""
        join = self.joins[parent][ref]
        rows = self.tables[self.entities[join["entity"]]["table"]]
        if through := join.get("through"):
            own, key = row[self.column_of_id(parent)], self.column_of_id(join["entity"])
            links = [link for link in self.tables[through["table"]] if link[through["from"]] == own]
            wanted = {link[through["to"]] for link in links}
            return [other for other in rows if other[key] in wanted]
        target, here = self.entities[join["entity"]]["table"], self.entities[parent]["table"]
        pairs = []
        for part in re.split(r"\s+AND\s+", join["on"]):
            left, right = (side.replace('"', "").rsplit(".", 1) for side in re.split(r"\s*=\s*", part))
            # Where both sides are one table, the target stands on the left.
            if target != here and left[0] != target:
                left, right = right, left
            pairs.append((left[1], right[1]))
        return [other for other in rows
                if all(row[mine] is not None and other[its] == row[mine] for its, mine in pairs)]

    def column_of_id(self, entity):
        return self.entities[entity]["columns"][self.entities[entity]["id"]]


SCHEMA = Schema()


# --- queries (SPEC §3, §4): both formats become [(name, None or selection)] ---

def place(text, at):
    """Line and column of a character, counted from 1."""
    before = text[:at]
    return {"line": before.count("\n") + 1, "column": at - (before.rfind("\n") + 1) + 1}


def no_constant(name):
    """Python reads NaN and Infinity, which JSON does not have."""
    raise json.JSONDecodeError(f"{name} is no value", name, 0)


class Members(list):
    """The members of a JSON object, kept as a list so that duplicates can be seen."""


def parse_json(text):
    depth = deepest = 0
    for part in re.finditer(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', text):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(part.group(), 0)
        deepest = max(deepest, depth)
    if deepest > 4 * DEPTH + 20:
        raise invalid(f"The query nests deeper than {DEPTH} relations")
    try:
        root = json.loads(text, object_pairs_hook=Members, parse_constant=no_constant)
    except ValueError as error:
        raise invalid(f"The query is no JSON: {error}", **place(text, getattr(error, "pos", 0)))
    if not isinstance(root, Members) or not root:
        raise invalid("A query is an object with one key, the entity")
    for name, _ in root:
        if name.startswith("$"):
            raise invalid(f"'{name}' does not belong at the root; controls stand under the entity")
    check_twice(root)
    if len(root) > 1:
        raise invalid("A query has one root; read one entity at a time")
    return root[0][0], selection(root[0][1], root[0][0])


def check_twice(members):
    names = [name for name, _ in members]
    for name in names:
        if names.count(name) > 1:
            raise invalid(f"'{name}' is given twice")


def selection(node, path):
    if not isinstance(node, Members):
        raise invalid("A read node is an object with $select", path=path)
    check_twice(node)
    members = dict(node)
    for name in members:
        if name != "$select":
            what = "is not served at level 1" if name in CONTROLS else "is no part of a query"
            raise invalid(f"'{name}' {what}", path=path)
    select = members.get("$select")
    if not isinstance(select, Members) or not select:
        raise invalid("$select is an object with at least one member", path=path)
    check_twice(select)
    out = []
    for name, value in select:
        if isinstance(value, Members):
            out.append((name, selection(value, f"{path}.{name}")))
        elif value is True:
            out.append((name, None))
        else:
            raise invalid(f"'{name}' maps to true or to a read node", path=path)
    return out


def parse_ql(text):
    tokens = []
    position = 0
    while position < len(text):
        match = re.compile(r"[ \t\r\n]+|[{}]|[A-Za-z_][A-Za-z0-9_]*").match(text, position)
        if not match:
            raise invalid(f"'{text[position]}' is nothing that a query may have", **place(text, position))
        if not match.group().isspace():
            tokens.append((match.group(), position))
        position = match.end()
    tokens.append(("", len(text)))
    tokens.reverse()

    def expect(what):
        token, at = tokens[-1]
        if token != what:
            raise invalid(f"'{what}' expected, not '{token}'", **place(text, at))
        tokens.pop()

    def name():
        token, at = tokens[-1]
        if token in ("{", "}", ""):
            raise invalid(f"A name expected, not '{token}'", **place(text, at))
        return tokens.pop()[0]

    def items(depth):
        if depth > DEPTH:
            raise invalid(f"The query nests deeper than {DEPTH} relations")
        out = []
        while tokens[-1][0] not in ("}", "") or not out:
            at = tokens[-1][1]
            field = name()
            if tokens[-1][0] == "{":
                tokens.pop()
                if field in [known for known, _ in out]:
                    raise invalid(f"The relation '{field}' is selected twice", **place(text, at))
                out.append((field, items(depth + 1)))
                expect("}")
            elif (field, None) not in out:
                out.append((field, None))
        return out

    expect("{")
    entity = name()
    if tokens[-1][0] == "{":
        tokens.pop()
        chosen = items(0)
        expect("}")
    else:
        chosen = items(0)
    expect("}")
    expect("")
    return entity, chosen


def check(entity, chosen, path, depth=0, count=None):
    """Holds a selection against the schema and the bounds."""
    count = [0, 0] if count is None else count
    if depth > DEPTH:
        raise invalid(f"The query nests deeper than {DEPTH} relations", path=path)
    fields, refs = SCHEMA.entities[entity]["columns"], SCHEMA.joins.get(entity, {})
    for name, inner in chosen:
        count[0] += 1
        if count[0] > FIELDS:
            raise invalid(f"The query selects more than {FIELDS} fields", path=path)
        if inner is None and name in refs:
            raise invalid(f"'{name}' is a relation of '{entity}' and needs a selection", path=path)
        if inner is None and name not in fields:
            raise invalid(f"Field '{name}' not found on entity '{entity}'", path=path)
        if inner is not None and name not in refs:
            what = "is a field and has no selection" if name in fields else "not found"
            raise invalid(f"Relation '{name}' {what} on entity '{entity}'", path=path)
        if inner is not None:
            count[1] += 1
            if count[1] > RELATIONS:
                raise invalid(f"The query selects more than {RELATIONS} relations", path=path)
            check(refs[name]["entity"], inner, f"{path}.{name}", depth + 1, count)


# --- results (SPEC §5) ---

def shape(entity, chosen, row):
    out = {}
    for name, inner in chosen:
        if inner is None:
            out[name] = row[SCHEMA.entities[entity]["columns"][name]]
            continue
        join = SCHEMA.joins[entity][name]
        rows = [shape(join["entity"], inner, other) for other in SCHEMA.related(entity, name, row)]
        out[name] = rows if join["type"] == "many" else (rows[0] if rows else None)
    return out


def read(text, format_name, wanted, identity):
    if len(text.encode()) > QUERY_BYTES:
        raise invalid(f"The query is larger than {QUERY_BYTES} bytes")
    entity, chosen = parse_ql(text) if format_name == "ql" else parse_json(text)
    for key in (wanted, entity):
        if key is not None and key not in SCHEMA.entities:
            raise invalid(f"Entity '{key}' not found")
    if wanted is not None and wanted != entity:
        raise invalid(f"The query reads '{entity}', but the path is that of '{wanted}'")
    check(entity, chosen, entity)
    rows = SCHEMA.tables[SCHEMA.entities[entity]["table"]]
    if identity is None:
        return [shape(entity, chosen, row) for row in rows]
    if SCHEMA.entities[entity]["id"] is None:
        raise invalid(f"Records of '{entity}' have no id, so there are only lists of them")
    key = SCHEMA.column_of_id(entity)
    found = [row for row in rows if str(row[key]) == identity]
    return shape(entity, chosen, found[0]) if found else None


# --- transport (SPEC §2) ---

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def route(self):
        """The segments after the base, decoded, and the methods that the path takes."""
        path, _, query = self.path.partition("?")
        if not (path + "/").startswith(BASE + "/"):
            raise Refused(404, "NotFound", "Nothing is at this path")
        segments = path[len(BASE):].strip("/").split("/") if path[len(BASE):].strip("/") else []
        decoded = []
        for segment in segments:
            if re.search(r"%(?![0-9A-Fa-f]{2})", segment):
                raise transport("A segment of the path cannot be decoded")
            try:
                decoded.append(unquote_to_bytes(segment).decode())
            except UnicodeDecodeError:
                raise transport("A segment of the path is not UTF-8")
        reserved = {"queries", "auth", "logout"}
        if len(decoded) == 1 and decoded[0] in reserved or not decoded:
            allowed = ["POST", "OPTIONS"]
        elif len(decoded) == 1:
            allowed = ["GET", "HEAD", "OPTIONS"]
        elif len(decoded) == 2:
            allowed = ["GET", "HEAD", "PUT", "OPTIONS"]
        elif len(decoded) == 3 and decoded[2] != "events":
            allowed = ["OPTIONS"]
        else:
            raise Refused(404, "NotFound", "Nothing is at this path")
        unserved = self.command == "POST" and decoded
        if self.command not in allowed or unserved:
            raise Refused(405, "MethodNotAllowed", "The path does not take this method", {"Allow": ", ".join(allowed)})
        return decoded, allowed, query

    def answer(self):
        decoded, allowed, query = self.route()
        if self.command == "OPTIONS":
            return 204, None, {"Allow": ", ".join(allowed)}
        if len(self.headers.get_all("Host") or []) != 1:
            raise transport("A request has one Host header")
        if len(self.path) > HEADER_BYTES:
            raise transport("The request line is too long", 414)
        if len(self.path) + sum(len(name) + len(value) for name, value in self.headers.items()) > HEADER_BYTES:
            raise transport("The headers are too large", 431)
        for name, _ in parse_qsl(query, keep_blank_values=True):
            if name.lower() in HEADERS + [control.lower() for control in CONTROLS]:
                raise transport(f"'{name}' is no URL parameter; it stands in a header or in the query")
        if self.command == "POST":
            return 200, self.posted(), {}
        identity = decoded[1] if len(decoded) == 2 else None
        return 200, read(*self.query_of_head(), decoded[0], identity), {}

    def query_of_head(self):
        texts = [value.strip() for value in self.headers.get_all("X-Mesh-Query") or []]
        ids = self.headers.get_all("X-Mesh-Query-Id") or []
        if len(texts) + len(ids) != 1 or not (texts + ids)[0]:
            raise transport("Send one X-Mesh-Query, once and not empty")
        if ids:
            raise Refused(400, "TransportError", "There is no such query", code="QUERY_ID_UNKNOWN")
        bare = texts[0].rstrip("=")
        if not re.fullmatch(r"[A-Za-z0-9+/]*={0,2}", texts[0]) or len(bare) % 4 == 1:
            raise transport("X-Mesh-Query is not base64")
        try:
            text = base64.b64decode(bare + "=" * (-len(bare) % 4)).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise transport("X-Mesh-Query is not base64 of UTF-8 text")
        format_name = self.headers.get("X-Mesh-Format", "json")
        if format_name not in ("json", "ql"):
            raise transport("X-Mesh-Format is json or ql")
        return text, format_name

    def posted(self):
        media = self.headers.get("Content-Type", "").split(";")[0].strip().lower()
        if media != "application/json":
            raise transport("A body is application/json", 415)
        length = int(self.headers.get("Content-Length") or 0)
        if length > BODY_BYTES:
            # What is left unread would break the connection before the answer is there.
            self.rfile.read(min(length, 4 * BODY_BYTES))
            self.close_connection = True
            raise transport("The body is too large", 413)
        try:
            body = json.loads(self.body(length), parse_constant=no_constant)
        except ValueError:
            raise transport("The body is no JSON")
        if not isinstance(body, dict) or not isinstance(body.get("query"), str):
            raise transport("A body is an object with the text 'query'")
        format_name, identity = body.get("format", "json"), body.get("id")
        if format_name not in ("json", "ql"):
            raise transport("'format' is json or ql")
        if identity is not None and type(identity) not in (str, int, float):
            raise transport("'id' is a string or a number")
        return read(body["query"], format_name, None, None if identity is None else str(identity))

    def body(self, length):
        """The body in UTF-8, of a known length or in chunks."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(length).decode()
        chunks = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks).decode()

    def handle_any(self):
        given = self.headers.get("X-Request-Id", "")
        request_id = given if re.fullmatch(r"[!-~]{1,128}", given) else uuid.uuid4().hex
        try:
            status, body, headers = self.answer()
        except Refused as refused:
            status, headers = refused.status, refused.headers
            body = {**refused.body, "requestId": request_id}
        payload = b"" if status == 204 else json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("X-Request-Id", request_id)
        if status != 204:
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.send_header("Content-Length", str(len(payload)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(payload)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = handle_any


if __name__ == "__main__":
    # The library's own bound on a line, in the place of which the handler answers.
    import http.client
    import http.server
    http.client._MAXLINE = 4 * HEADER_BYTES
    sys.setrecursionlimit(10_000)
    ThreadingHTTPServer.request_queue_size = 128
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Handler)
    server.daemon_threads = True
    print(f"listening on http://127.0.0.1:{server.server_port}{BASE}", flush=True)
    server.serve_forever()
