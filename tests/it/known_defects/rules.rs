//! Rules learned from attacks on and failures of other servers, and the tests that enforce them here.

/// Each rule with the tests that enforce it, as `file::name`.
pub(super) const RULES: &[(&str, &[&str])] = &[
    (
        "hidden fields do not leak through filters or unknown keys",
        &[
            "mesh-plan/src/policy/tests.rs::hidden_fields_are_unknown_wherever_they_are_named",
            "tests/it/security/policies.rs::hidden_names_are_unknown_names",
        ],
    ),
    (
        "repetition of small elements is limited",
        &[
            "tests/it/security/attack/inputs.rs::depth_and_repetition_are_refused_without_delay",
            "tests/it/reads/errors/limits.rs::queries_are_answered_up_to_each_limit_and_refused_above",
        ],
    ),
    ("parsing stops at a limit", &["mesh-ql/src/tests/hostile.rs::wide_texts_take_linear_time"]),
    (
        "a form or plain text of another origin writes nothing",
        &[
            "tests/it/transport/queries.rs::post_accepts_json_only",
            "mesh-server/tests/it/uploads/refusals.rs::an_upload_needs_its_header_and_a_valid_form",
        ],
    ),
    (
        "the playground runs no injected script",
        &[
            "tests/it/playground/script.rs::foreign_text_is_shown_as_text",
            "tests/it/playground/script.rs::links_do_not_inject_scripts",
            "tests/it/security/attack/page.rs::only_the_playground_is_served_as_html",
        ],
    ),
    (
        "slow heads and bodies do not delay other clients",
        &["tests/it/security/attack/pressure.rs::slow_clients_do_not_delay_others"],
    ),
    (
        "parts of forms are limited, and aborted uploads leave nothing behind",
        &[
            "mesh-uploads/src/receive/tests/hostile.rs::endless_input_is_read_up_to_its_limit",
            "tests/it/uploads/hostile.rs::a_disconnected_client_leaves_nothing",
        ],
    ),
    (
        "a hostile value does not change the statement",
        &[
            "tests/it/security/attack/inputs.rs::a_hostile_value_does_not_change_the_statement",
            "mesh-server/tests/it/fuzz.rs::plan",
        ],
    ),
    (
        "a signature can be bound to one use",
        &["mesh-server/tests/it/integrity/binding.rs::a_bound_signature_is_valid_for_the_replay_window"],
    ),
    (
        "no text is valid in both formats",
        &["mesh-ql/src/tests/roundtrip.rs::ql_is_refused_as_json_and_json_as_ql"],
    ),
    ("printing and parsing are inverse", &["mesh-ql/src/tests/roundtrip.rs::json_to_ql_to_json"]),
    ("one altered bit is refused", &["tests/it/security/integrity.rs::one_altered_character_is_refused"]),
    (
        "a repeated header is refused",
        &[
            "tests/it/security/attack/inputs.rs::a_repeated_header_is_refused",
            "mesh-server/tests/it/integrity/codes.rs::repeated_headers_are_refused",
        ],
    ),
    (
        "the end of a request is unambiguous",
        &[
            "tests/it/security/attack/framing.rs::an_ambiguous_end_of_a_request_closes_the_connection",
            "tests/it/security/attack/framing.rs::a_request_inside_a_body_is_never_answered",
        ],
    ),
    (
        "paths are decoded once and lead to records only",
        &[
            "tests/it/security/attack/inputs.rs::a_path_is_decoded_once_and_addresses_records_only",
            "mesh-server/tests/it/uploads/refusals.rs::files_have_no_other_paths",
        ],
    ),
    (
        "oversized heads and bodies are refused with an error body",
        &["tests/it/transport/sizes.rs::too_large_requests_get_an_error_body"],
    ),
    (
        "a database may be locked, missing, replaced, truncated or full",
        &[
            "tests/it/operations/storage.rs::a_database_locked_by_a_writer_is_waited_for_until_the_timeout",
            "tests/it/operations/storage.rs::a_missing_database_is_unavailable_until_it_is_restored",
            "tests/it/operations/storage.rs::a_replaced_database_file_is_served",
            "tests/it/operations/storage.rs::a_full_disk_fails_writes_only",
            "tests/it/operations/storage.rs::a_full_disk_fails_uploads_and_leaves_no_files",
            "tests/it/operations/storage.rs::a_read_only_database_is_served",
        ],
    ),
    (
        "a resolver that panics ends its request only",
        &[
            "mesh-server/tests/it/resolvers/failures.rs::internal_failures_are_resolver_errors_without_their_cause",
            "mesh-plan/src/shape/tests.rs::a_panic_of_the_resolver_ends_its_read_only",
        ],
    ),
    (
        "a clock that jumps does not revive anything that expired",
        &["mesh-integrity/src/gate/tests.rs::clock_changes_do_not_revive_sessions_or_signatures"],
    ),
    (
        "a signal under load loses no request",
        &["tests/it/operations/failures.rs::no_request_is_lost_in_a_shutdown_under_load"],
    ),
    (
        "revocations and registered queries survive a crash",
        &[
            "tests/it/security/integrity.rs::a_logout_applies_to_all_servers_and_after_restarts",
            "tests/it/security/persisted.rs::a_registered_query_survives_a_restart_and_is_shared",
        ],
    ),
    (
        "connections recover after the database was killed",
        &[
            "tests/it/postgres/failover.rs::reads_continue_while_servers_and_databases_are_killed",
            "mesh-postgres/src/tests/failures.rs::reads_continue_while_servers_fail_and_recover",
        ],
    ),
    (
        "an invalid schema keeps the old one in use",
        &["tests/it/operations/reload.rs::faulty_schema_keeps_the_old_one_in_use"],
    ),
    (
        "missing descriptors or a blocked log do not stop the server",
        &[
            "tests/it/operations/failures.rs::a_server_recovers_from_exhausted_descriptors",
            "tests/it/operations/failures.rs::a_blocked_log_does_not_block_requests",
        ],
    ),
    (
        "a long run of mixed traffic leaks nothing",
        &["tests/it/operations/soak.rs::mixed_traffic_leaks_nothing"],
    ),
];
