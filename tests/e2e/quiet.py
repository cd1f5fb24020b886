# SPDX-License-Identifier: GPL-2.0-or-later
"""Cases that need a quiet machine, by name or pattern, with the reason. They run once, when all others are over."""

# One after the other.
QUIET = {
    "answers.exceptions_lead": "its program uses the CPUs, and what it does with them is measured",
    "answers.large_objects_lead": "its program uses the CPUs, and what it does with them is measured",
    "answers.compilation_leads": "its program uses the CPUs, and what it does with them is measured",
    "answers.backtracking_leads": "its program uses the CPUs, and what it does with them is measured",
    "answers.timers_lead": "its program uses the CPUs, and what it does with them is measured",
    "answers.of_two_defects_both_are_named": "its program uses the CPUs, and what it does with them is measured",
    "answers.time_in_the_queue_of_the_pool_is_a_part": "it measures how long work waits for a thread",
    "answers.neighbours_lead": "it loads the processors",
    "answers.sampled_allocations_stand_for_all": "its program uses the CPUs, and what it does with them is measured",
    "answers_dotnet.*": "they measure what programs do with the CPUs",
    "answers_jvm.*": "they measure what programs do with the CPUs",
    "answers_native.*": "they measure what programs do with the CPUs",
    "answers_node.*": "they measure what programs do with the CPUs",
    "answers_postgresql.*": "they measure what a server waits for",
    "answers_python.*": "they measure what programs do with the CPUs",
    "awaits.chains_*": "their first samples lack callers until tables are loaded, which takes longer where CPUs are busy",
    "cgroup.processes_*": "they choose processes by where they are, and move some",
    "churn.*": "they trace the whole machine and start hundreds of processes a second",
    "coreclr_cycles.*": "they load the processors",
    "counted.cell_all_*": "they trace the whole machine",
    "dead_files.record_of_the_machine_continues_when_a_mapped_file_does_not_answer": "it attaches to the programs of other cases",
    "doors.directory_of_a_tapir_that_was_killed_with_its_guard_goes_with_the_next":
        "a tapir that another case starts would remove the directory first",
    "faults.second_interrupt_ends_at_once": "it traces the whole machine",
    "investigations.*": "they measure time",
    **{f"losses.{name}": "it loads the processors" for name in (
        "ring_full_is_counted_exactly_when_nobody_drains", "threads_that_could_not_be_announced_are_counted",
        "stacks_that_could_not_be_sent_are_counted", "mappings_that_were_missed_are_counted", "processes_that_were_missed_are_counted")},
    "losses.hits_of_others_are_counted_apart": "it counts the hits of all others",
    **{f"losses_dotnet.{name}": "it counts what is lost when the reader is late" for name in (
        "sources_that_are_disposed_give_their_places_back", "more_kinds_than_places_are_recorded_when_they_come_one_after_the_other",
        "kinds_without_a_place_are_counted_when_they_come_at_once", "providers_beyond_those_a_process_accepts_are_counted",
        "events_of_a_provider_without_a_name_in_the_library_are_counted", "payloads_up_to_64_kb_are_whole")},
    "names.shares_are_those_perf_sees": "two profilers are compared",
    "names.java_addresses_bear_the_name_of_their_time": "a JVM must have time to compile",
    "ring.a_lane_is_found_soon_when_something_new_is_executed": "it traces every ringer, and measures time",
    "ring.many_processes_are_looked_at_in_turn": "it traces every ringer",
    "ring_life.a_ninth_tracer_is_told_that_there_is_no_room": "it traces every ringer",
    "requests.requests_of_the_default_profile_are_the_clients": "it compares durations with a client's clock",
    "sched.comm_chooses_whose_switches": "it traces by the name of a program that other cases run",
    "sched.all_takes_switches_only_when_asked": "it traces the whole machine",
    "slow_programs.dotnet_request_slowed_by_gen2_collections": "it measures time",
    "stack_faults.two_thousand_processes_have_whole_stacks": "it starts 2,000 processes",
    "stack_faults.libraries_that_come_and_go_leave_their_places": "it loads the processors",
    "stacks.calls_are_those_of_perf_with_copies_of_the_stack": "two profilers are compared",
    "storm.*": "they load the processors",
    "top.*": "without a process it looks at all of them, and names what other cases do to it: files that do not answer",
    "trace.cost_of_a_fast_probe_is_said_once": "it loads the processors",
}

# Two at a time: they measure, and leave room for another.
WAITING = {
    **{f"answers.{name}": "it measures how long threads wait" for name in (
        "starved_pool_leads", "pool_whose_threads_sleep_leads", "deadlock_leads", "convoy_leads", "growth_of_native_memory_leads",
        "slow_dependency_leads", "finalizer_that_is_stuck_leads", "orders_over_awaits_are_paired_by_their_ids",
        "orders_without_ids_have_no_invented_duration", "leak_leads", "quota_leads", "induced_collections_lead", "idle_process_is_idle",
        "what_the_holder_waits_for_is_reported", "deadlock_from_before_the_recording_leads")},
    **{f"dead_files.{name}": "every tapir that looks at all processes names its file, also those of other cases" for name in (
        "record_continues_when_a_mapped_file_does_not_answer", "samples_keep_their_names_when_another_file_does_not_answer",
        "record_ends_when_its_own_program_does_not_answer", "trace_continues_when_a_mapped_file_does_not_answer",
        "events_of_a_live_fuse_file_are_exact_and_named", "a_dead_perf_map_keeps_nobody_waiting")},
    "pageout.*": "they drop pages, and wait for them",
    "sample.samples_*": "it counts samples by time",
    "sample.kernels_*": "it counts samples by time",
    "sched.who_yields_is_distinguished_from_who_is_preempted_on_its_way_out": "it counts switches of two programs on one CPU",
    "sched.process_without_probes_is_sampled": "it counts samples by time",
    "sched.other_events_sample_where_they_happen": "it counts samples by time",
    "sched.switches_and_waits_of_a_program_are_those_it_knows_of": "it measures how long a thread is off the CPU",
    "sched.names_and_cgroups_choose_switches_as_pids_do": "it measures how long a thread is off the CPU",
    "stacks.hostile_stack_ends_where_it_stops_being_one": "it counts samples by time",
    "timeline.*": "they measure time",
    "slow_programs.jvm_lock_convoy": "it measures how long threads wait",
    "slow_programs.postgresql_query_that_waits": "it measures how long a query waits",
}
