//! A builder for schemas in code, with the same checks as for documents.

use crate::{
    Catalog, ComputedDocument, Document, EntityDocument, Faults, FieldType, IdField, JoinDocument, Schema,
    SearchDocument, Upload, Writable,
};

/// A builder for a [`Schema`]. It fills a [`Document`], which [`SchemaBuilder::build`] loads.
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until it builds"]
pub struct SchemaBuilder {
    document: Document,
}

impl Schema {
    /// Returns a builder for an empty schema.
    pub fn builder() -> SchemaBuilder {
        SchemaBuilder::default()
    }
}

impl SchemaBuilder {
    /// Adds an entity. The closure `describe` sets its fields and properties.
    pub fn entity(mut self, key: &str, describe: impl FnOnce(EntityBuilder) -> EntityBuilder) -> Self {
        let EntityBuilder { document } = describe(EntityBuilder::default());
        self.document.entities.push(key, document);
        self
    }

    /// Adds a relation under its key `entityKey.ref`. Use [`JoinDocument::one`], [`JoinDocument::many`]
    /// or [`JoinDocument::through`].
    pub fn relation(mut self, key: &str, join: JoinDocument) -> Self {
        self.document.joins.push(key, join);
        self
    }

    /// Returns the document built so far, for example to print it.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Builds the schema.
    ///
    /// # Errors
    /// Every fault of the schema.
    pub fn build(self) -> Result<Schema, Faults> {
        self.document.load(None)
    }

    /// Builds the schema and checks it against the catalog of a database.
    ///
    /// # Errors
    /// Every fault of the schema.
    pub fn build_with(self, catalog: &Catalog) -> Result<Schema, Faults> {
        self.document.load(Some(catalog))
    }
}

/// A builder for an entity, used inside [`SchemaBuilder::entity`].
#[derive(Clone, Debug, Default)]
#[must_use = "the closure has to give the builder back"]
pub struct EntityBuilder {
    document: EntityDocument,
}

impl EntityBuilder {
    /// Adds a field with a type.
    pub fn field(mut self, name: &str, ty: FieldType) -> Self {
        self.document.types.push(name, ty);
        self.untyped(name)
    }

    /// Adds a field with the type of its storage column.
    pub fn untyped(mut self, name: &str) -> Self {
        self.document.fields.push(name.to_owned());
        self
    }

    /// Sets the storage table. The default is the entity key, with an `s` appended unless it ends in one.
    pub fn table(mut self, table: &str) -> Self {
        self.document.table = Some(table.to_owned());
        self
    }

    /// Sets the storage column of a field. The default is the name of the field.
    pub fn column(mut self, field: &str, column: &str) -> Self {
        self.document.columns.push(field, column.to_owned());
        self
    }

    /// Sets the field that identifies a row. The default is `id`.
    pub fn id(mut self, field: &str) -> Self {
        self.document.id_field = IdField::Field(field.to_owned());
        self
    }

    /// Sets the fields that together identify a row. With one field it is the same as [`EntityBuilder::id`].
    pub fn key<'n>(mut self, fields: impl IntoIterator<Item = &'n str>) -> Self {
        self.document.id_field = fields.into_iter().map(str::to_owned).collect();
        self
    }

    /// Declares that no field identifies a row, which permits collection reads only.
    pub fn no_id(mut self) -> Self {
        self.document.id_field = IdField::Null;
        self
    }

    /// Permits all writes: records can be created and updated, with all fields, and deleted.
    pub fn writable(self) -> Self {
        self.writes(Writable::all())
    }

    /// Makes these fields writable when records are created or updated.
    pub fn writable_fields<'n>(self, fields: impl IntoIterator<Item = &'n str>) -> Self {
        self.writes(Writable::fields(fields))
    }

    /// Sets the writes that are permitted.
    pub fn writes(mut self, writable: Writable) -> Self {
        self.document.writable = writable;
        self
    }

    /// Makes a field accept files.
    pub fn upload(mut self, field: &str, upload: Upload) -> Self {
        self.document.uploads.push(field, upload);
        self
    }

    /// Adds a field computed from others, for example `computed("name", ["first", "last"], "{first} {last}")`.
    pub fn computed<'n>(
        mut self,
        name: &str,
        from: impl IntoIterator<Item = &'n str>,
        template: &str,
    ) -> Self {
        let from = from.into_iter().map(str::to_owned).collect();
        self.document.computed.push(name, ComputedDocument { from, template: template.to_owned() });
        self
    }

    /// Makes the records searchable for the words of these text fields.
    pub fn search<'n>(mut self, fields: impl IntoIterator<Item = &'n str>) -> Self {
        let fields = fields.into_iter().map(str::to_owned).collect();
        self.document.search = Some(SearchDocument { fields, ..SearchDocument::default() });
        self
    }

    /// Sets the description of the records, for people.
    pub fn description(mut self, text: &str) -> Self {
        self.document.description = Some(text.to_owned());
        self
    }

    /// Sets the description of a field or a computed field, for people.
    pub fn describe(mut self, field: &str, text: &str) -> Self {
        self.document.descriptions.push(field, text.to_owned());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cardinality, Member, ThroughDocument};

    fn blog() -> SchemaBuilder {
        Schema::builder()
            .entity("user", |user| {
                user.field("id", FieldType::Integer)
                    .untyped("first")
                    .untyped("last")
                    .computed("name", ["first", "last"], "{first} {last}")
                    .upload("first", Upload { max_bytes: Some(10), content_types: None })
            })
            .entity("post", |post| {
                post.field("slug", FieldType::String)
                    .field("createdAt", FieldType::Datetime)
                    .table("blog posts")
                    .column("createdAt", "created_at")
                    .id("slug")
                    .writable_fields(["slug"])
            })
            .entity("event", |event| event.untyped("text").no_id().writable())
            .relation("post.author", JoinDocument::one("user", r#"users.id = "blog posts".author_id"#))
            .relation("user.posts", JoinDocument::many("post", r#""blog posts".author_id = users.id"#))
            .relation(
                "user.liked",
                JoinDocument::through("post", ThroughDocument::new("likes", "user_id", "post")),
            )
    }

    #[test]
    fn schema_is_built_in_code() {
        let schema = blog().build().unwrap();
        let post = schema.entity(schema.find("post").unwrap());
        assert_eq!(post.table.name, "blog posts");
        assert_eq!(
            post.fields.iter().map(|field| field.column.as_str()).collect::<Vec<_>>(),
            ["slug", "created_at"]
        );
        assert_eq!(post.id, [crate::FieldId(0)]);
        let writable = post.fields.iter().map(|field| (field.writable.create, field.writable.update));
        assert_eq!(writable.collect::<Vec<_>>(), [(true, true), (false, false)]);
        assert!(!post.deletable);
        let Some(Member::Relation(author)) = post.member("author") else { panic!("no relation") };
        assert_eq!(post.relation(author).cardinality, Cardinality::One);
        let event = schema.entity(schema.find("event").unwrap());
        assert_eq!((event.id.len(), event.tie_break.len()), (0, 1));
        let user = schema.entity(schema.find("user").unwrap());
        assert_eq!(user.member("name"), Some(Member::Computed(0)));
        assert_eq!(user.relations.len(), 2);
    }

    #[test]
    fn built_document_can_be_printed_and_parsed() {
        let document = blog().document().clone();
        assert_eq!(Document::parse(&document.to_json()), Ok(document));
    }

    #[test]
    fn wrong_schema_is_refused_with_every_fault() {
        let faults = blog()
            .entity("user", |user| user.untyped("id"))
            .relation("post.writer", JoinDocument::one("usr", "a.b = c.d"))
            .build()
            .unwrap_err();
        let shown: Vec<_> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "entities.user: The entity 'user' is given twice",
                "joins.post.writer.entity: Entity 'usr' not found; did you mean 'user'?",
            ]
        );
    }
}
