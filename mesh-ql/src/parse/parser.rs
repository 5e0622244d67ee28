//! State and rules that the parsers of both formats share.

use std::borrow::Cow;

use super::token::{Token, Tokenizer};
use crate::error::Quoted;
use crate::span::{Name, Span, Spanned};
use crate::{Limits, SyntaxError};

/// A name in the text, borrowed where possible.
pub(crate) type TokenName<'t> = Spanned<Cow<'t, str>>;

/// The state of parsing: the current token, the path of read nodes, and the limits.
pub(crate) struct Parser<'t> {
    tokens: Tokenizer<'t>,
    pub(crate) limits: Limits,
    /// The read nodes around the current token: the entity, then relations.
    path: Vec<Cow<'t, str>>,
    /// Fields and relations selected so far.
    selected: usize,
    /// Relations selected so far.
    relations: usize,
    /// Conditions on relations so far.
    relation_conditions: usize,
    /// Keys of `$orderBy` so far that are aggregates of relations.
    aggregate_sorts: usize,
}

impl<'t> Parser<'t> {
    /// Starts at the first token. The limits on nesting bound the recursion, so they must be clamped already.
    pub(crate) fn new(text: &'t str, limits: &Limits) -> Self {
        Self {
            tokens: Tokenizer::new(text),
            limits: *limits,
            path: Vec::new(),
            selected: 0,
            relations: 0,
            relation_conditions: 0,
            aggregate_sorts: 0,
        }
    }

    /// Returns the current token.
    pub(crate) fn token(&self) -> &Token<'t> {
        &self.tokens.token
    }

    /// Returns the location of the current token.
    pub(crate) fn span(&self) -> Span {
        self.tokens.span
    }

    /// Returns the text of the current token.
    pub(crate) fn token_text(&self) -> &'t str {
        self.tokens.span.slice(self.tokens.text)
    }

    /// Returns whether the token after the current one is this string.
    pub(crate) fn next_is_text(&self, text: &str) -> bool {
        let mut ahead = self.tokens.clone();
        ahead.advance();
        matches!(&ahead.token, Token::Text(next) if next == text)
    }

    /// Advances to the next token and returns the previous one.
    pub(crate) fn advance(&mut self) -> Token<'t> {
        self.tokens.advance()
    }

    /// Advances if the current token is `token`. Returns whether it advanced.
    pub(crate) fn advance_if(&mut self, token: &Token<'_>) -> bool {
        let matches = self.tokens.token == *token;
        if matches {
            self.advance();
        }
        matches
    }

    /// Advances if the current token is a string, and returns that string.
    pub(crate) fn take_text(&mut self) -> Option<TokenName<'t>> {
        if !matches!(self.tokens.token, Token::Text(_)) {
            return None;
        }
        let span = self.tokens.span;
        match self.advance() {
            Token::Text(text) => Some(Spanned::new(text, span)),
            _ => None,
        }
    }

    /// Parses the contents of a read node. Its name is part of the path of errors inside it.
    pub(crate) fn with_path_segment<T>(
        &mut self,
        name: &TokenName<'t>,
        parse: impl FnOnce(&mut Self) -> Result<T, SyntaxError>,
    ) -> Result<T, SyntaxError> {
        self.path.push(name.value.clone());
        let parsed = parse(self)?;
        self.path.pop();
        Ok(parsed)
    }

    /// Counts a selected field or relation, and checks the bound on their number. `SPEC §3.11`
    pub(crate) fn count_selection(&mut self, name: &TokenName<'t>) -> Result<(), SyntaxError> {
        self.selected += 1;
        let bound = self.limits.fields;
        if self.selected <= bound {
            return Ok(());
        }
        let message =
            format!("The query selects more fields and relations than the bound `fields` ({bound}) allows");
        Err(self.error(name.span, message))
    }

    /// Counts a relation below the current node, and checks that it is within the bounds on depth and number. `SPEC §3.5`
    pub(crate) fn count_relation(&mut self, relation: &TokenName<'t>) -> Result<(), SyntaxError> {
        self.relations += 1;
        let Limits { depth, relations, .. } = self.limits;
        let message = if self.path.len() > depth {
            format!("Relation {} is nested deeper than the bound `depth` ({depth}) allows", Quoted(relation))
        } else if self.relations > relations {
            format!("The query selects more relations than the bound `relations` ({relations}) allows")
        } else {
            return Ok(());
        };
        Err(self.error(relation.span, message))
    }

    /// Counts a condition on a relation that is `levels` levels below the current node, and checks that it is within the
    /// bounds on depth and number. `SPEC §14.1`
    pub(crate) fn count_relation_condition(
        &mut self,
        span: Option<Span>,
        levels: usize,
    ) -> Result<(), SyntaxError> {
        self.relation_conditions += 1;
        let Limits { depth, relation_conditions, .. } = self.limits;
        let message = if self.path.len() + levels > depth + 1 {
            format!("The relation of a condition is nested deeper than the bound `depth` ({depth}) allows")
        } else if self.relation_conditions > relation_conditions {
            format!(
                "The query has more conditions on relations than the bound `relation_conditions` \
                 ({relation_conditions}) allows"
            )
        } else {
            return Ok(());
        };
        Err(self.error(span, message))
    }

    /// Counts a key of `$orderBy` that is an aggregate of a relation, and checks the bound on their number. `SPEC §14.9`
    pub(crate) fn count_aggregate_sort(&mut self, span: Option<Span>) -> Result<(), SyntaxError> {
        self.aggregate_sorts += 1;
        let bound = self.limits.aggregate_sorts;
        if self.aggregate_sorts <= bound {
            return Ok(());
        }
        let message = format!(
            "The query sorts by more aggregates of relations than the bound `aggregate_sorts` ({bound}) allows"
        );
        Err(self.error(span, message))
    }

    /// Creates an error about a part of the text, by default the current token.
    pub(crate) fn error(&self, span: impl Into<Option<Span>>, message: impl Into<String>) -> SyntaxError {
        let span = span.into().unwrap_or(self.tokens.span);
        let path = (!self.path.is_empty()).then(|| self.path.join("."));
        SyntaxError { message: message.into(), path, span, position: span.position(self.tokens.text) }
    }
}

/// Copies a name into the query.
pub(crate) fn to_name(name: TokenName<'_>) -> Name {
    Spanned { value: name.value.into_owned(), span: name.span }
}
