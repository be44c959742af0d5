use super::*;

fn limited(time: Option<Duration>, memory: Option<u64>) -> Stop {
    Stop::new(Limits { time, memory, polls: None })
}

#[test]
fn a_handle_without_limits_never_stops() {
    let stop = Stop::never();
    stop.request_stop();
    stop.enter("reading");
    assert_eq!((stop.reason(), stop.remaining(), stop.stage()), (None, None, ""));
    assert!(!stop.is_possible());
}

#[test]
fn a_request_reaches_all_clones() {
    let stop = limited(None, None);
    let other = stop.clone();
    assert_eq!(other.check(), Ok(()));
    std::thread::spawn(move || other.request_stop()).join().expect("asks");
    assert_eq!(stop.check(), Err(Reason::Interrupted));
    assert_eq!(stop.within(Some(Duration::ZERO)).reason(), Some(Reason::Interrupted));
}

#[test]
fn a_deadline_lasts_and_the_first_reason_counts() {
    let stop = limited(Some(Duration::ZERO), None);
    assert_eq!(stop.reason(), Some(Reason::Deadline));
    stop.request_stop();
    assert_eq!(stop.reason(), Some(Reason::Deadline));
    assert_eq!(stop.remaining(), Some(Duration::ZERO));
}

#[test]
fn a_part_ends_before_the_whole() {
    let stop = limited(Some(Duration::from_secs(3600)), None);
    let part = stop.within(Some(Duration::ZERO));
    assert_eq!((part.reason(), stop.reason()), (Some(Reason::TimeLimit), None));
    assert_eq!(part.within(None).reason(), Some(Reason::TimeLimit));
    assert!(Stop::never().within(Some(Duration::ZERO)).is_possible());
}

#[cfg(target_os = "linux")]
#[test]
fn memory_is_limited() {
    assert_eq!(limited(None, Some(1)).reason(), Some(Reason::Memory));
    assert_eq!(limited(None, Some(u64::MAX)).reason(), None);
}

#[test]
fn polls_are_limited() {
    let stop = Stop::new(Limits { polls: Some(3), ..Limits::default() });
    let results: Vec<bool> = (0..4).map(|_| stop.clone().check().is_ok()).collect();
    assert_eq!(results, [true, true, false, false]);
}

#[test]
fn clones_share_the_stage() {
    let stop = limited(None, None);
    stop.clone().enter("unrolling");
    assert_eq!(stop.stage(), "unrolling");
}

#[test]
fn a_ticker_polls_in_every_nth_iteration() {
    let stop = limited(None, None);
    let mut ticker = Ticker::new(3);
    stop.request_stop();
    let ticks: Vec<bool> = (0..6).map(|_| ticker.tick(&stop).is_ok()).collect();
    assert_eq!(ticks, [true, true, false, true, true, false]);
}

#[test]
fn clones_share_the_activity() {
    let stop = limited(None, None);
    assert_eq!(stop.activity(), Activity::default());
    stop.about("balancer");
    stop.enter("proving");
    stop.within(Some(Duration::ZERO)).count(7, "pairs");
    let expected =
        Activity { subject: "balancer".to_owned(), stage: "proving", done: 7, unit: "pairs" };
    assert_eq!(stop.clone().activity(), expected);
    // The count belonged to the previous stage.
    stop.enter("rewriting");
    assert_eq!(stop.activity(), Activity { stage: "rewriting", done: 0, unit: "", ..expected });
    Stop::never().count(1, "pairs");
    assert_eq!(Stop::never().activity(), Activity::default());
}
