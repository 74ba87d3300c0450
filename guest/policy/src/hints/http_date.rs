//! HTTP-dates, all three forms of RFC 9110 §5.6.7, always UTC. Two things are accepted beyond the grammar, because
//! servers send them and they cannot be misread: other case, and a numeric zone in the first form.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::time::{Delay, Epoch};

/// The instant that a date names. `now` decides the century of two-digit years (more than 50 years ahead means the past
/// one). An instant before 1970 becomes 1970: it is past in any case.
pub(super) fn http_date(text: &str, now: Epoch) -> Option<Epoch> {
    let text = Scanner(text.as_bytes());
    imf_fixdate(text).or_else(|| rfc850(text, now)).or_else(|| asctime(text))
}

/// `Mon, 30 Nov 2026 12:02:00 GMT`
fn imf_fixdate(mut text: Scanner) -> Option<Epoch> {
    text.one_of(&DAYS, 3)?;
    text.literal(", ")?;
    let day = text.digits(2)?;
    text.literal(" ")?;
    let month = text.one_of(&MONTHS, 3)?;
    text.literal(" ")?;
    let year = text.digits(4)?;
    text.literal(" ")?;
    let time = text.time_of_day()?;
    text.literal(" ")?;
    let offset_minutes = text.zone()?;
    text.end()?;
    instant(year, month, day, time, offset_minutes)
}

/// `Monday, 30-Nov-26 12:02:00 GMT`
fn rfc850(mut text: Scanner, now: Epoch) -> Option<Epoch> {
    text.one_of(&DAYS, usize::MAX)?;
    text.literal(", ")?;
    let day = text.digits(2)?;
    text.literal("-")?;
    let month = text.one_of(&MONTHS, 3)?;
    text.literal("-")?;
    let year = text.digits(2)?;
    text.literal(" ")?;
    let time = text.time_of_day()?;
    text.literal(" GMT")?;
    text.end()?;
    let this_year = civil(now)?.year();
    let ahead = instant(this_year - this_year % 100 + year, month, day, time, 0)?;
    let limit = civil(now)?.date().with().year(this_year + 50).build().ok()?;
    let is_too_far = civil(ahead)? > limit.to_datetime(civil(now)?.time());
    if is_too_far { instant(this_year - this_year % 100 - 100 + year, month, day, time, 0) } else { Some(ahead) }
}

/// `Mon Nov 30 12:02:00 2026`, a day below ten is padded with a space.
fn asctime(mut text: Scanner) -> Option<Epoch> {
    text.one_of(&DAYS, 3)?;
    text.literal(" ")?;
    let month = text.one_of(&MONTHS, 3)?;
    text.literal(" ")?;
    let day = if text.literal(" ").is_some() { text.digits(1)? } else { text.digits(2)? };
    text.literal(" ")?;
    let time = text.time_of_day()?;
    text.literal(" ")?;
    let year = text.digits(4)?;
    text.end()?;
    instant(year, month, day, time, 0)
}

fn instant(year: i16, month: i16, day: i16, time: [i16; 3], offset_minutes: i64) -> Option<Epoch> {
    let [hour, minute, second] = time.map(|part| i8::try_from(part).unwrap_or(i8::MAX));
    // A leap second is in the grammar, not in the calendar.
    let leap = u64::from(second == 60);
    let second = if second == 60 { 59 } else { second };
    let date = DateTime::new(year, month as i8 + 1, day as i8, hour, minute, second, 0).ok()?;
    let ms = TimeZone::UTC.to_timestamp(date).ok()?.as_millisecond() - offset_minutes * 60_000;
    Some(Epoch::from_ms(u64::try_from(ms).unwrap_or(0)) + Delay::from_secs(leap))
}

fn civil(at: Epoch) -> Option<DateTime> {
    let timestamp = jiff::Timestamp::from_millisecond(i64::try_from(at.as_ms()).ok()?).ok()?;
    Some(TimeZone::UTC.to_datetime(timestamp))
}

/// What is left to read. A method that finds what it looks for moves on; one that does not leaves all as it was.
#[derive(Clone, Copy)]
struct Scanner<'a>(&'a [u8]);

impl Scanner<'_> {
    fn literal(&mut self, text: &str) -> Option<()> {
        let (head, tail) = self.0.split_at_checked(text.len())?;
        head.eq_ignore_ascii_case(text.as_bytes()).then(|| self.0 = tail)
    }

    fn digits(&mut self, count: usize) -> Option<i16> {
        let (head, tail) = self.0.split_at_checked(count)?;
        let value = head.iter().try_fold(0, |value, byte| match byte {
            b'0'..=b'9' => Some(value * 10 + i16::from(byte - b'0')),
            _ => None,
        })?;
        self.0 = tail;
        Some(value)
    }

    /// The index of the name that comes next, each cut off at `length`.
    fn one_of(&mut self, names: &[&str], length: usize) -> Option<i16> {
        let cut = |name: &&str| name.len().min(length);
        let found = names.iter().position(|name| self.literal(&name[..cut(name)]).is_some())?;
        i16::try_from(found).ok()
    }

    fn time_of_day(&mut self) -> Option<[i16; 3]> {
        let hour = self.digits(2)?;
        self.literal(":")?;
        let minute = self.digits(2)?;
        self.literal(":")?;
        Some([hour, minute, self.digits(2)?])
    }

    /// Minutes east of UTC.
    fn zone(&mut self) -> Option<i64> {
        if self.literal("GMT").is_some() || self.literal("UTC").is_some() {
            return Some(0);
        }
        let sign = if self.literal("-").is_some() { -1 } else { self.literal("+").map(|()| 1)? };
        let (hours, minutes) = (self.digits(2)?, self.digits(2)?);
        (hours < 24 && minutes < 60).then_some(sign * (i64::from(hours) * 60 + i64::from(minutes)))
    }

    fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-30T12:00:00Z
    const NOON: Epoch = Epoch::from_ms(1_796_040_000_000);

    fn seconds_from_noon(text: &str) -> Option<u64> {
        http_date(text, NOON).map(|at| at.since(NOON).as_ms() / 1_000)
    }

    #[test]
    fn all_three_forms_name_the_same_instant() {
        assert_eq!(seconds_from_noon("Mon, 30 Nov 2026 12:02:00 GMT"), Some(120));
        assert_eq!(seconds_from_noon("Monday, 30-Nov-26 12:02:00 GMT"), Some(120));
        assert_eq!(seconds_from_noon("Mon Nov 30 12:02:00 2026"), Some(120));
        assert_eq!(seconds_from_noon("Tue Dec  1 12:00:00 2026"), Some(86_400));
    }

    #[test]
    fn other_case_and_a_numeric_zone_are_understood() {
        assert_eq!(seconds_from_noon("mon, 30 nov 2026 12:02:00 gmt"), Some(120));
        assert_eq!(seconds_from_noon("Mon, 30 Nov 2026 04:02:00 -0800"), Some(120));
    }

    #[test]
    fn a_leap_second_is_the_next_second() {
        assert_eq!(seconds_from_noon("Thu, 31 Dec 2026 23:59:60 GMT"), Some(2_721_600));
    }

    #[test]
    fn two_digit_years_more_than_fifty_ahead_are_past() {
        assert_eq!(seconds_from_noon("Monday, 30-Nov-76 12:00:00 GMT"), Some(1_577_923_200));
        assert_eq!(seconds_from_noon("Monday, 30-Nov-76 12:00:01 GMT"), Some(0));
    }

    #[test]
    fn what_is_no_date_is_no_date() {
        for wrong in [
            "Mon, 31 Nov 2026 12:00:00 GMT",
            "Fri, 29 Sep 100000 16:26:57 GMT",
            "Mon, 30 Nov 2026 24:00:00 GMT",
            "Mon, 30 Nov 2026 12:02:00",
            "Mon, 30 Nov 2026 12:02:00 GMT ",
            "30 Nov 2026 12:02:00 GMT",
            "Mon, 30 Nov 2026 12:02:61 GMT",
            "",
        ] {
            assert_eq!(seconds_from_noon(wrong), None, "{wrong}");
        }
    }
}
