//! Schema documents: parsing, checking, and inference from a database.
//!
//! Reading order: `document` (the JSON document), `load` with `on`, `template` and `check` (from document to
//! schema), `model` (the schema), `catalog`, `infer` and `naming` (from a database to a document), `builder` (a
//! schema in code).
#![doc = ""]
#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod builder;
mod catalog;
mod check;
mod computed;
mod document;
mod entries;
mod fault;
mod infer;
mod load;
mod model;
mod naming;
mod nearest;
mod on;
pub mod policy;
mod table_name;
mod template;

pub use builder::{EntityBuilder, SchemaBuilder};
pub use catalog::{Catalog, Column, ForeignKey, NativeKind, NativeType, Table, TimeForm};
pub use computed::ComputedError;
pub use document::{
    ComputedDocument, Document, EntityDocument, IdField, JoinDocument, ThroughDocument, Writable,
};
pub use entries::Entries;
pub use fault::{Fault, Faults};
pub use infer::{Inference, Note, infer, is_own_table};
pub use model::{
    Cardinality, ColumnPair, Computed, Entity, EntityId, Field, FieldId, FieldType, KeyColumn, Link, Member,
    Piece, Relation, RelationId, Schema, TableName, Upload,
};
pub use nearest::nearest;
