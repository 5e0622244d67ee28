//! Generated code is valid for every schema that the server accepts: names that languages or the generated code itself use, in
//! every position.

use std::collections::BTreeSet;
use std::path::Path;

use mesh_tests::{Database, PythonTools, TempDir, node_tools, run};
use serde_json::{Map, Value, json};

use super::{python, typescript};

/// Names that mean something elsewhere.
const NAMES: &str = "
    constructor toString toLocaleString valueOf hasOwnProperty isPrototypeOf propertyIsEnumerable prototype length name
    apply call bind arguments caller then catch hasOwn __proto__ __defineGetter__
    abstract any as asserts async await boolean break case class const continue debugger declare default delete do else enum
    export extends false finally for from function get if implements import in infer instanceof interface intrinsic is keyof let
    module namespace never new null number object of override package private protected public readonly require return
    satisfies set static string super switch symbol this throw true try type typeof undefined unique unknown using var void
    while with yield accessor bigint global out
    Promise Record Array Date Map Set Object Function Symbol String Number Boolean Error RegExp Partial Required Pick Omit Exclude
    Extract Readonly ReadonlyArray Iterator Request Response Headers URL Buffer Json EntityTypes Entities Query PointQuery Item
    Result Params Client Options One Many Filter Select Checked Refused mesh query connect Call Page Param Fields NewFields Query_
    False None True and assert def del elif except exec global_ lambda nonlocal not or pass raise match print
    annotations int float str bool bytes complex dict list set_ frozenset tuple type_ object_ range super_ property self cls
    staticmethod classmethod id input len map filter min max sum abs all hash iter next open vars zip repr format
    typing Any TypedDict TypeVar Optional Union Literal Generic Protocol E T datetime decimal uuid json asyncio mesh_client
    _schema schema Schema dataclass keys values items update pop clear copy get_ setdefault fromkeys popitem
    select change some none every create where limit has eq ne gt gte lt lte isNull fields relations kinds computed entity record
    read list_ page follow readByPut created updated meshError meshPageInfo meshGroup mesh_error pageInfo error group link uploaded
    Mesh MESH Post post postCreated post_created postFields PostEntity Holder holderSelf self_ annotations_
";

fn names() -> Vec<&'static str> {
    let names: BTreeSet<_> = NAMES.split_whitespace().collect();
    assert!(names.len() > 250);
    names.into_iter().collect()
}

/// A schema that has each name as an entity, as a field of an entity with a field of each name, of the entity of that name,
/// and as relations of both cardinalities.
struct Names {
    database: Database,
    schema: String,
}

impl Names {
    fn new() -> Self {
        let database = Database::new(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT, t_id INTEGER REFERENCES t (id));
             INSERT INTO t VALUES (1, 'x', 1);",
        );
        let (mut entities, mut joins) = (Map::new(), Map::new());
        let all = names();
        let columns = |fields: &[&str]| -> Value {
            let column = |field: &&str| ((*field).to_owned(), if *field == "id" { "id" } else { "v" }.into());
            fields.iter().map(column).collect::<Map<_, _>>().into()
        };
        let mut add = |key: &str, fields: &[&str]| {
            let entity =
                json!({"table": "t", "fields": fields, "columns": columns(fields), "writable": true});
            entities.insert(key.to_owned(), entity);
        };
        for name in &all {
            let fields = ["id", *name];
            add(name, if *name == "id" { &fields[..1] } else { &fields });
        }
        let others: Vec<_> = all.iter().copied().filter(|name| *name != "id").collect();
        add("everyField", &[&["id"], &others[..]].concat());
        for (holder, ty, on) in [("everyOne", "one", "t.id = t.t_id"), ("everyMany", "many", "t.t_id = t.id")]
        {
            add(holder, &["id"]);
            for name in &others {
                joins.insert(format!("{holder}.{name}"), json!({"entity": name, "type": ty, "on": on}));
            }
        }
        let schema =
            database.dir.write("schema.json", &json!({"entities": entities, "joins": joins}).to_string());
        Self { database, schema }
    }

    #[track_caller]
    fn generate(&self, command: &[&str], output: &Path) {
        let (url, output) = (self.database.url(), output.display().to_string());
        let source = ["--schema", &self.schema, "--database", &url, "-o", &output];
        let done = run(&[command, &source].concat());
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
}

#[test]
fn typescript_compiles() {
    let Some(tools) = node_tools() else { return };
    let (names, folder) = (Names::new(), TempDir::new());
    names.generate(&["types", "--react"], &folder.path().join("names.ts"));
    // Names that begin with two underscores set the prototype of an object literal, or are no members of it.
    let all: Vec<_> = self::names().into_iter().filter(|name| !name.starts_with("__")).collect();
    let mut program = "import { connect, query, type Result } from \"./names.js\";\n".to_owned();
    let text = |name: &str| Value::from(name).to_string();
    for (number, name) in all.iter().enumerate() {
        let own = if *name == "id" { String::new() } else { format!(", {}: true", text(name)) };
        program +=
            &format!("const q{number} = query({{ {}: {{ $select: {{ id: true{own} }} }} }});\n", text(name));
        program += &format!("export type R{number} = Result<typeof q{number}>[\"items\"][number][\"id\"];\n");
    }
    // Each of these leaves all other names out.
    for name in all.iter().filter(|name| **name != "id").step_by(25) {
        let name = text(name);
        program += &format!(
            "query({{ everyField: {{ $select: {{ {name}: true }} }} }});
             query({{ everyOne: {{ $select: {{ id: true, {name}: {{ $select: {{ id: true }} }} }} }} }});
             query({{ everyMany: {{ $select: {{ {name}: {{ $select: {{ id: true }} }} }} }} }});
             query({{ everyField: {{ $select: {{ id: true }}, $where: {{ field: {name}, op: \"eq\", value: \"x\" }} }} }});\n"
        );
    }
    let each = |value: &str| all.iter().map(|name| format!("{}: {value}, ", text(name))).collect::<String>();
    program += &format!("query({{ everyField: {{ $select: {{ {} }} }} }});\n", each("true"));
    let nodes = each("{ $select: { id: true } }").replace("\"id\": { $select: { id: true } }", "id: true");
    program += &format!(
        "query({{ everyOne: {{ $select: {{ {nodes} }} }}}});\nquery({{ everyMany: {{ $select: {{ {nodes} }} }}}});\n"
    );
    program += "const client = connect(\"http://127.0.0.1/mesh\");
        void client.create(\"everyField\", { toString: \"x\" });
        void client.update(\"constructor\", 1, { id: 2 });
        // @ts-expect-error An unknown entity is refused.
        query({ nosuch: { $select: { id: true } } });
        // @ts-expect-error An unknown field is refused, although another entity has it.
        query({ post: { $select: { constructor: true } } });
        // @ts-expect-error A field takes no node.
        query({ constructor: { $select: { constructor: { $select: { id: true } } } } });
        // @ts-expect-error A node needs a selection.
        query({ constructor: {} });\n";
    let _ = folder.write("program.ts", &program);
    std::fs::copy(typescript::programs().join("tsconfig.json"), folder.path().join("tsconfig.json")).unwrap();
    std::fs::remove_file(folder.path().join("mesh-react.ts")).unwrap();
    let _ = folder.write("package.json", r#"{"type": "module"}"#);
    for (name, _) in typescript::COMPILERS {
        typescript::node(folder.path(), &[&typescript::compiler(&tools, name), "-p", "."]);
    }
}

/// Counts the entities of the module, and evaluates the annotations of their members.
const MEMBERS: &str = "
import json, pathlib, sys, typing
import names
import mesh_client as mesh

entities = [value for value in vars(names).values() if isinstance(value, mesh.Entity)]
for entity in entities:
    typing.get_type_hints(type(entity))
assert len(entities) == len(json.loads(pathlib.Path(sys.argv[1]).read_text())['entities']), len(entities)
print('all well')
";

#[test]
fn python_passes_strict_checks() {
    let Some(tools) = PythonTools::find() else { return };
    let (names, folder) = (Names::new(), TempDir::new());
    names.generate(&["types", "--lang", "python"], &folder.path().join("names.py"));
    let _ = folder.write("pyrightconfig.json", r#"{"typeCheckingMode": "strict", "pythonVersion": "3.10"}"#);
    for (passed, said) in python::checked(&tools, &folder, &["names.py"]) {
        assert!(passed, "{said}");
    }
    let _ = folder.write("members.py", MEMBERS);
    assert_eq!(python::python(&tools, &folder, &["members.py", &names.schema]), "all well\n");
}

/// Validates a description, and checks that generators of code can tell its parts apart.
const DESCRIPTION: &str = "
import collections, json, pathlib, re, sys
from openapi_spec_validator import validate

document = json.loads(pathlib.Path(sys.argv[1]).read_text())
# The validator takes long, and most paths differ in names only.
paths = list(document['paths'].items())
validate(document | {'paths': dict(paths[::20] + paths[-20:])})
folded = lambda name: re.sub('[^a-z0-9]', '', name.lower())
operations = [it['operationId'] for path in document['paths'].values() for it in path.values()]
for names in (operations, document['components']['schemas']):
    repeated = [name for name, count in collections.Counter(map(folded, names)).items() if count > 1]
    assert not repeated, repeated
print('all well')
";

#[test]
fn openapi_is_valid_and_its_names_are_unique() {
    let (Some(tools), Some(node)) = (PythonTools::find(), node_tools()) else { return };
    let (names, folder) = (Names::new(), TempDir::new());
    let file = folder.path().join("openapi.json");
    let settings = folder.write(
        "mesh.toml",
        "[mutations]\nenabled = true\n[export]\nenabled = true\n[uploads]\nenabled = true\nstore = \"file:files\"\n\
         [docs]\nenabled = true\n",
    );
    names.generate(&["openapi", "--config", &settings], &file);
    let file = file.display().to_string();
    assert_eq!(python::python(&tools, &folder, &["-c", DESCRIPTION, &file]), "all well\n");
    let answers = folder.write("answers.json", "[]");
    assert_eq!(super::schemas::script("openapi.mjs", &node, &[&file, &answers]), "all well\n");
}

#[test]
fn the_json_schema_of_queries_accepts_each_name() {
    let Some(tools) = node_tools() else { return };
    let (names, folder) = (Names::new(), TempDir::new());
    let file = folder.path().join("queries.json");
    names.generate(&["json-schema"], &file);
    let queries: Vec<_> = self::names()
        .into_iter()
        .filter(|name| *name != "__proto__")
        .map(|name| json!({name: {"$select": {name: true}, "$where": {"field": name, "op": "isNotNull"}}}))
        .collect();
    let queries = folder.write("asked.json", &Value::from(queries).to_string());
    let said = super::schemas::script("queries.mjs", &tools, &[&file.display().to_string(), &queries]);
    assert!(said.lines().all(|line| line == "yes"), "{said}");
    assert_eq!(said.lines().count(), self::names().len() - 1);
}
