//! Defects of other servers, and the tests that detect them here.

/// Each defect with the tests that detect it, as `file::name`.
pub(super) const DEFECTS: &[(&str, &[&str])] = &[
    (
        "a field of `$orderBy` was copied into the statement",
        &["tests/it/security/attack/inputs.rs::an_unknown_name_is_refused_in_every_position"],
    ),
    (
        "a column that is not listed could be grouped by",
        &[
            "tests/it/security/attack/inputs.rs::an_unknown_name_is_refused_in_every_position",
            "mesh-plan/src/policy/tests.rs::hidden_fields_are_unknown_wherever_they_are_named",
        ],
    ),
    (
        "an aggregate accepted a column that is not listed",
        &[
            "tests/it/security/attack/inputs.rs::an_unknown_name_is_refused_in_every_position",
            "mesh-plan/src/policy/tests.rs::hidden_fields_are_unknown_wherever_they_are_named",
        ],
    ),
    (
        "an alias became part of the statement",
        &[
            "tests/it/security/attack/inputs.rs::an_unknown_name_is_refused_in_every_position",
            "mesh-ql/src/tests/wrong_controls.rs::aggregates",
        ],
    ),
    (
        "names were not quoted",
        &[
            "mesh-sql/src/sqlite/tests.rs::odd_names_are_quoted",
            "mesh-server/tests/it/hostile_values.rs::names_are_quoted_and_nothing_is_written",
            "tests/it/cli/databases.rs::unusual_names_are_served",
        ],
    ),
    (
        "an entity named like a member of every script object caused an internal error",
        &["tests/it/security/attack/inputs.rs::an_unknown_name_is_refused_in_every_position"],
    ),
    (
        "controls beside the root were ignored",
        &["tests/it/reads/errors.rs::a_query_of_another_shape_is_refused"],
    ),
    (
        "groups within a relation were ignored",
        &["tests/it/reads/errors/controls.rs::a_control_in_the_wrong_place_is_refused"],
    ),
    (
        "page sizes were counted in joined rows",
        &[
            "tests/it/reads.rs::nested_controls_apply_to_each_parent",
            "mesh-server/tests/it/differential.rs::databases_and_memory_agree",
        ],
    ),
    (
        "controls of a relation were parsed but not applied",
        &[
            "tests/it/reads.rs::nested_controls_apply_to_each_parent",
            "mesh-plan/src/resolver/memory/tests.rs::nested_controls_hold_for_each_parent",
        ],
    ),
    (
        "lists of children were truncated silently",
        &[
            "tests/it/reads.rs::nested_controls_apply_to_each_parent",
            "tests/it/reads/errors/limits.rs::a_result_of_too_many_objects_is_refused_rather_than_truncated",
        ],
    ),
    (
        "pages over mixed directions skipped and repeated rows",
        &["tests/it/reads/paging.rs::each_persistent_row_is_visited_once_and_in_order"],
    ),
    (
        "rows with a NULL sort key were skipped",
        &[
            "tests/it/reads/paging.rs::each_persistent_row_is_visited_once_and_in_order",
            "mesh-sql/src/sqlite/tests.rs::keyset",
        ],
    ),
    (
        "the page after a key that is not selected was empty",
        &["tests/it/known_defects.rs::pages_follow_keys_that_are_not_selected"],
    ),
    (
        "cursors could be forged",
        &[
            "tests/it/reads/errors/cursors.rs::a_cursor_of_another_read_is_refused",
            "mesh-server/tests/it/fuzz.rs::cursor",
        ],
    ),
    (
        "conditions on groups were ignored",
        &[
            "tests/it/reads.rs::rows_are_grouped_and_aggregated",
            "mesh-plan/src/resolver/memory/tests/group.rs::having_filters_groups",
        ],
    ),
    (
        "`$distinct` was ignored",
        &[
            "mesh-plan/src/resolver/memory/tests/group.rs::distinct_combinations",
            "mesh-sql/src/sqlite/tests.rs::distinct",
        ],
    ),
    (
        "aggregates without groups caused an internal error",
        &[
            "mesh-sql/src/sqlite/tests.rs::one_group_of_all",
            "tests/it/reads.rs::rows_are_grouped_and_aggregated",
        ],
    ),
    (
        "a missing record was an empty object",
        &["tests/it/transport/routes.rs::a_record_with_an_impossible_id_is_null"],
    ),
    (
        "controls on one record were ignored",
        &["tests/it/reads/errors/controls.rs::a_control_in_the_wrong_place_is_refused"],
    ),
    (
        "the path's entity was not compared with the query's",
        &["tests/it/reads/errors.rs::an_unknown_name_is_refused_with_its_path_and_a_suggestion"],
    ),
    (
        "records were looked up by another column than the declared id",
        &["tests/it/cli/databases.rs::unusual_keys_are_served"],
    ),
    (
        "a self-relation joined the wrong sides",
        &[
            "mesh-sql/src/sqlite/tests.rs::self_relation_both_ways",
            "tests/it/reads.rs::self_relations_work_in_both_directions",
        ],
    ),
    (
        "relations of equal name in two entities were confused",
        &["tests/it/known_defects.rs::relations_of_one_name_belong_to_their_entities"],
    ),
    (
        "table names were used as patterns",
        &[
            "tests/it/known_defects.rs::names_of_tables_are_no_patterns",
            "mesh-schema/src/document/join_condition/tests.rs::conditions_are_parsed",
        ],
    ),
    ("one of two equal relations in a query was dropped", &["mesh-ql/src/tests/wrong.rs::ql_names"]),
    (
        "parts of a filter were ignored",
        &[
            "tests/it/reads.rs::filters_combine",
            "mesh-server/tests/it/differential.rs::databases_and_memory_agree",
        ],
    ),
    (
        "`hasNextPage` was missing; patterns were compared literally",
        &[
            "mesh-plan/src/shape/tests.rs::a_page_is_cut_and_tells_that_more_follow",
            "mesh-plan/src/value/like/tests.rs::wildcards_and_escapes",
        ],
    ),
    (
        "an invalid list, an object or null as a value caused an internal error",
        &[
            "tests/it/reads/errors/controls.rs::operators_and_values_of_the_wrong_type_are_refused",
            "tests/it/reads/errors/controls.rs::a_malformed_control_is_refused",
        ],
    ),
    (
        "a PUT without an id read a list; any format name was accepted; a POST read no record",
        &[
            "tests/it/transport/routes.rs::unknown_paths_and_methods_are_refused",
            "tests/it/transport/queries.rs::post_accepts_json_only",
        ],
    ),
    ("a join scanned the whole joined table", &["mesh-sql/src/sqlite/tests.rs::point_with_relations"]),
    (
        "an entry cached for a user was looked up under another key",
        &[
            "mesh-plan/src/policy/tests.rs::plans_are_shared_only_within_a_class",
            "mesh-server/src/events/tests.rs::results_that_depend_on_the_principal_are_not_shared",
        ],
    ),
    (
        "an unsigned POST was trusted",
        &[
            "mesh-server/tests/it/integrity/routes.rs::an_unsigned_post_is_refused",
            "mesh-server/tests/it/integrity/routes.rs::every_route_refuses_unsigned_requests",
        ],
    ),
    (
        "the claims of a token could be changed",
        &[
            "mesh-server/tests/it/integrity/codes.rs::altered_tokens_are_refused",
            "mesh-integrity/src/token/tests.rs::any_altered_character_is_refused",
        ],
    ),
    (
        "the expiry of a token could be extended",
        &[
            "mesh-integrity/src/token/tests.rs::every_altered_bit_is_refused",
            "tests/it/security/integrity.rs::tokens_expire",
        ],
    ),
    (
        "a forged logout ended the sessions of others",
        &["mesh-server/tests/it/integrity/codes.rs::a_forged_logout_ends_no_session"],
    ),
    (
        "another process accepted a revoked session, and revocations were kept forever",
        &[
            "tests/it/security/integrity.rs::a_logout_applies_to_all_servers_and_after_restarts",
            "mesh-integrity/src/revocations.rs::expired_entries_are_removed",
        ],
    ),
    ("wrong credentials got no reply", &["mesh-server/tests/it/integrity/codes.rs::refusals_are_replies"]),
    (
        "a signature without its prefix was accepted",
        &["mesh-server/tests/it/integrity/codes.rs::a_signature_without_its_prefix_is_refused"],
    ),
    (
        "a signature could be used for another path",
        &[
            "mesh-integrity/src/gate/tests.rs::bound_signatures_are_valid_for_their_target_only",
            "mesh-server/tests/it/integrity/binding.rs::a_bound_signature_is_valid_for_one_request",
        ],
    ),
    (
        "registered queries could not be signed",
        &["mesh-server/tests/it/integrity/persisted.rs::ids_are_signed_like_queries"],
    ),
    (
        "an upload signed for one field was accepted for another",
        &["tests/it/security/integrity.rs::a_signed_upload_is_valid_for_its_field_only"],
    ),
    (
        "form fields overrode properties of the request",
        &["tests/it/security/integrity.rs::form_data_sets_fields_only"],
    ),
    (
        "access rules applied to the root only",
        &[
            "mesh-plan/src/policy/tests.rs::conditions_hold_in_relations_of_every_kind",
            "mesh-plan/src/policy/tests.rs::hidden_entities_are_unknown_in_roots_paths_and_relations",
        ],
    ),
    (
        "the role was read from a header or a body",
        &[
            "tests/it/security/integrity.rs::claims_outside_the_token_are_ignored",
            "tests/it/playground/session.rs::only_admins_have_access",
        ],
    ),
    (
        "a hidden entity could be queried in the playground",
        &["mesh-docs/src/docs/tests.rs::hidden_entities_do_not_exist"],
    ),
    (
        "the page was served before authentication and loaded third-party files",
        &[
            "mesh-docs/src/docs/tests.rs::page_is_public_and_its_data_is_not",
            "mesh-docs/src/docs/tests.rs::page_escapes_text_and_loads_only_local_files",
        ],
    ),
    (
        "errors had undocumented codes",
        &[
            "mesh-wire/src/error/tests.rs::kinds_have_the_statuses_of_the_protocol",
            "tests/it/transport/queries.rs::exactly_one_query_header_is_taken",
        ],
    ),
    (
        "an unsupported method was reported as an unknown path",
        &["tests/it/transport/routes.rs::unknown_paths_and_methods_are_refused"],
    ),
    (
        "errors revealed statements and files",
        &[
            "tests/it/reads/errors.rs::errors_of_resolvers_do_not_reveal_the_storage",
            "tests/it/operations/storage.rs::reads_of_a_truncated_or_overwritten_file_fail",
        ],
    ),
    (
        "deep queries overflowed the stack",
        &[
            "tests/it/security/attack/inputs.rs::depth_and_repetition_are_refused_without_delay",
            "mesh-ql/src/tests/hostile.rs::endless_nesting_is_refused_at_the_bound",
        ],
    ),
    (
        "rate limits used an address chosen by the client",
        &[
            "tests/it/security/rates.rs::a_client_cannot_choose_its_address",
            "mesh-server/src/rates/limiter.rs::a_million_addresses_use_no_more_memory_and_lift_no_limit",
        ],
    ),
    (
        "responses had no `Vary` header",
        &["tests/it/transport/replies.rs::reads_are_revalidated_by_their_tag"],
    ),
    (
        "the number of registered queries was unbounded, and ids differed between servers",
        &[
            "tests/it/security/persisted.rs::the_store_is_bounded",
            "mesh-plan/src/persisted/tests.rs::ids_follow_from_format_and_text",
            "mesh-server/tests/it/client.rs::unknown_queries_are_registered",
        ],
    ),
    (
        "a client retried endlessly and did not escape ids in paths",
        &[
            "mesh-wire/src/client/operation/tests.rs::a_refusal_ends_the_operation",
            "mesh-wire/src/client/tests.rs::empty_and_overlong_segments_are_refused",
        ],
    ),
    (
        "a stream began before its query was validated, and missed changes",
        &[
            "tests/it/events.rs::invalid_requests_are_refused_without_a_stream",
            "mesh-server/src/events/tests.rs::no_change_is_lost_between_subscribing_and_reading",
            "tests/it/events.rs::a_reconnecting_client_is_not_sent_the_data_that_it_has",
        ],
    ),
    (
        "a stream ended after its first event",
        &[
            "tests/it/events.rs::a_stream_sends_heartbeats",
            "tests/it/events.rs::a_stream_sends_the_record_and_then_its_changes",
        ],
    ),
    (
        "a lost connection for change notifications was not reestablished",
        &["mesh-postgres/src/tests/writes.rs::changes_are_notified_with_and_without_triggers"],
    ),
    (
        "limits on files were declared but not enforced",
        &[
            "mesh-server/tests/it/uploads/refusals.rs::every_refusal_of_the_table",
            "tests/it/uploads.rs::memory_does_not_depend_on_the_size_of_a_file",
        ],
    ),
    (
        "a supported database was not tested",
        &["tests/it/conformance.rs::postgresql_answers_every_case_as_sqlite_does"],
    ),
];
