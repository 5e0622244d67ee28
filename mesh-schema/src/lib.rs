//! Schema documents: parsing, checking, and inference from a database.
//!
//! Reading order: `document` (the JSON document), `load` (from document to schema), `model` (the schema), `catalog` and
//! `infer` (from a database to a document), `builder` (a schema in code).
#![doc = ""]
#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod builder;
mod catalog;
mod document;
mod fault;
mod index_statements;
mod infer;
mod load;
mod model;
pub mod policy;
mod search_notes;
mod serialize;

pub use builder::{EntityBuilder, SchemaBuilder};
pub use catalog::{
    Catalog, CellKinds, Column, Configuration, Constraint, ForeignKey, NativeKind, NativeType, Operators,
    Size, Table, TextIndex, TextSearch, TimeForm,
};
pub use document::{
    ComputedDocument, Document, EntityDocument, Entries, FieldList, IdField, JoinDocument, SearchDocument,
    ThroughDocument, Writable,
};
pub use fault::{Fault, Faults, nearest};
pub use infer::{Inference, Note, infer};
pub use model::{
    Cardinality, ColumnPair, Computed, ComputedError, Entity, EntityId, Field, FieldId, FieldType,
    FieldWrites, KeyColumn, KeyReference, Link, Member, Piece, Relation, RelationId, Schema, Search,
    SearchIndex, SqlPart, TableName, Upload,
};
pub use search_notes::search_notes;
pub use serialize::UnknownName;
