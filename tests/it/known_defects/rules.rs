//! What others learned from attacks and failures, and the tests that hold it here.

/// Rules that others learned the hard way, and the tests that hold them.
pub(super) const RULES: &[(&str, &[&str])] = &[
    (
        "what is hidden leaks through no filter and no unknown key",
        &[
            "mesh-plan/src/policy/tests.rs::hidden_fields_have_no_name_in_any_place",
            "tests/it/policies.rs::what_a_role_may_not_see_has_no_name",
        ],
    ),
    (
        "small things many times over are counted",
        &[
            "tests/it/attack/inputs.rs::depth_and_repetition_are_refused_without_delay",
            "tests/it/errors.rs::queries_are_answered_up_to_each_limit_and_refused_above",
        ],
    ),
    ("reading stops at a bound", &["mesh-ql/src/tests/hostile.rs::wide_texts_take_linear_time"]),
    (
        "a form or plain text of a foreign page writes nothing",
        &[
            "tests/it/transport.rs::post_accepts_json_only",
            "mesh-server/tests/uploads.rs::the_header_must_be_there_and_the_form_must_be_right",
        ],
    ),
    (
        "the playground runs no script of others",
        &[
            "tests/it/playground/script.rs::what_others_write_is_shown_as_text",
            "tests/it/playground/script.rs::links_bring_no_script",
            "tests/it/attack/page.rs::no_reply_is_a_page_but_the_page",
        ],
    ),
    ("slow heads and bodies hold up nobody", &["tests/it/attack/pressure.rs::slow_clients_hold_up_nobody"]),
    (
        "parts of forms have bounds, and nothing stays of those broken off",
        &[
            "mesh-uploads/src/receive/tests/hostile.rs::endless_input_is_read_up_to_its_limit",
            "tests/it/uploads/hostile.rs::a_disconnected_client_leaves_nothing",
        ],
    ),
    (
        "a hostile value leaves the statement as it is",
        &[
            "tests/it/attack/inputs.rs::a_hostile_value_leaves_the_statement_as_it_is",
            "mesh-server/tests/fuzz.rs::plan",
        ],
    ),
    (
        "a signature can be bound to one use",
        &["mesh-server/tests/integrity/binding.rs::a_bound_signature_has_its_time"],
    ),
    (
        "no text means something in both formats",
        &["mesh-ql/src/tests/roundtrip.rs::ql_is_refused_as_json_and_json_as_ql"],
    ),
    ("printing and reading undo each other", &["mesh-ql/src/tests/roundtrip.rs::json_to_ql_to_json"]),
    ("one altered bit is refused", &["tests/it/integrity.rs::one_altered_character_is_refused"]),
    (
        "a header that stands twice is refused",
        &[
            "tests/it/attack/inputs.rs::a_header_that_stands_twice_is_refused",
            "mesh-server/tests/integrity/codes.rs::headers_that_stand_twice_are_refused",
        ],
    ),
    (
        "a request has one end",
        &[
            "tests/it/attack/framing.rs::a_request_has_one_end_or_none_follows_it",
            "tests/it/attack/framing.rs::a_request_inside_of_a_body_is_never_answered",
        ],
    ),
    (
        "paths are decoded once and lead to records only",
        &[
            "tests/it/attack/inputs.rs::a_path_is_decoded_once_and_leads_to_records_only",
            "mesh-server/tests/uploads.rs::no_other_path_leads_to_a_file",
        ],
    ),
    (
        "heads and bodies have bounds, and replies that say so",
        &["tests/it/transport.rs::too_large_requests_get_an_error_body"],
    ),
    (
        "a database that is held, gone, replaced, cut short or full",
        &[
            "tests/it/storage.rs::a_database_that_others_hold_is_waited_for_and_then_given_up",
            "tests/it/storage.rs::a_database_that_is_gone_is_unavailable_until_it_is_back",
            "tests/it/storage.rs::another_file_in_its_place_is_served_instead",
            "tests/it/storage.rs::a_full_disk_refuses_writes_and_nothing_else",
            "tests/it/storage.rs::a_full_disk_refuses_files_and_leaves_nothing_of_them",
            "tests/it/storage.rs::a_database_that_may_only_be_read_is_read",
        ],
    ),
    (
        "a resolver that panics ends its request only",
        &[
            "mesh-server/tests/resolver.rs::what_goes_wrong_inside_is_a_resolver_error_without_its_cause",
            "mesh-plan/src/shape/tests.rs::a_panic_of_the_resolver_ends_its_read_only",
        ],
    ),
    (
        "a clock that jumps brings nothing back",
        &["mesh-integrity/src/gate/tests.rs::clock_changes_do_not_revive_sessions_or_signatures"],
    ),
    (
        "a signal under load loses no request",
        &["tests/it/faults.rs::no_request_is_lost_in_a_shutdown_under_load"],
    ),
    (
        "what was ended or registered outlives a crash",
        &[
            "tests/it/integrity.rs::a_logout_applies_to_all_servers_and_after_restarts",
            "tests/it/persisted.rs::a_registered_query_outlives_its_server_and_is_known_to_others",
        ],
    ),
    (
        "a database that is killed comes back",
        &[
            "tests/it/postgres.rs::servers_and_databases_are_killed_in_the_middle_of_load",
            "mesh-postgres/src/tests/failures.rs::replicas_come_and_go_under_load",
        ],
    ),
    (
        "a faulty schema leaves the old one serving",
        &["tests/it/reload.rs::faulty_schema_keeps_the_old_one_in_use"],
    ),
    (
        "no descriptors, or a log that nobody reads, end nothing",
        &[
            "tests/it/faults.rs::a_server_recovers_from_exhausted_descriptors",
            "tests/it/faults.rs::a_blocked_log_does_not_block_requests",
        ],
    ),
    ("a long time of everything leaves nothing behind", &["tests/it/soak.rs::mixed_traffic_leaves_no_trace"]),
];
