

class Post(TypedDict):
    """A record of `post`."""

    id: int | None
    authorId: str | int | float | bool | None


class User(TypedDict):
    """A record of `user`."""

    name: str | int | float | bool | None


class Tag(TypedDict):
    """A record of `tag`."""

    label: str | int | float | bool | None


class PostFields(mesh.Fields[E]):
    """The fields of `post`."""

    id: mesh.IntegerField[E]
    authorId: mesh.ScalarField[E]
    author: UserPath[E]


class PostEntity(PostFields["PostEntity"], mesh.DeletableEntity["PostEntity", Post]):
    """The entity `post`."""

    tags: mesh.Links[PostEntity, TagEntity]

    def new(
        self,
        *,
        id: int | None = mesh.UNSET,
        authorId: mesh.Scalar | None = mesh.UNSET,
    ) -> mesh.New[Post]:
        """Returns a new record, for `create`."""
        return self._new(
            id=id,
            authorId=authorId,
        )

    def change(
        self,
        _id: mesh.RecordId,
        /,
        *,
        id: int | None = mesh.UNSET,
        authorId: mesh.Scalar | None = mesh.UNSET,
    ) -> mesh.Change[Post]:
        """Returns changes of a record, for `update`."""
        return self._change(
            _id,
            id=id,
            authorId=authorId,
        )


class UserFields(mesh.Fields[E]):
    """The fields of `user`."""

    name: mesh.ScalarField[E]


class UserPath(UserFields[E], mesh.One[E, User]):
    """A relation to a record of `user`."""


class UserPosts(mesh.Many["UserEntity", "PostEntity"]):
    """The relation `user.posts`."""

    def new(
        self,
        _id: mesh.RecordId,
        /,
        *,
        id: int | None = mesh.UNSET,
        authorId: mesh.Scalar | None = mesh.UNSET,
    ) -> mesh.New[Post]:
        """Returns a new record in the relation of a record, for `create`."""
        return self._new(
            _id,
            id=id,
            authorId=authorId,
        )


class UserEntity(UserFields["UserEntity"], mesh.Entity["UserEntity", User]):
    """The entity `user`."""

    posts: UserPosts


class TagFields(mesh.Fields[E]):
    """The fields of `tag`."""

    label: mesh.ScalarField[E]


class TagEntity(TagFields["TagEntity"], mesh.RecordEntity["TagEntity", Tag]):
    """The entity `tag`."""


_schema: mesh.Schema = {
    "post": mesh.EntityInfo(
        fields={"id": "integer?", "authorId": "scalar?"},
        one={"author": ("user", UserPath)},
        many={"tags": ("tag", mesh.Links)},
    ),
    "user": mesh.EntityInfo(
        fields={"name": "scalar?"},
        many={"posts": ("post", UserPosts)},
    ),
    "tag": mesh.EntityInfo(
        fields={"label": "scalar?"},
    ),
}

post = PostEntity(_schema, "post")

user = UserEntity(_schema, "user")

tag = TagEntity(_schema, "tag")
