//! The proleptic Gregorian calendar in days since 2000-01-01, PostgreSQL's epoch.

/// Days from 1970-01-01 to 2000-01-01.
pub(super) const UNIX_TO_POSTGRES_DAYS: i64 = 10_957;

/// The last year that is accepted: the last of four digits.
const LAST_YEAR: u32 = 9999;

/// 2000-01-01 as [`day`] counts.
const EPOCH: i32 = 730_426;

/// The years of most dates, whose months' first days are looked up, and how many they are.
const USUAL_FROM: u32 = 1900;
const USUAL_YEARS: u32 = 200;

/// The first day of each month of these years, and that of the month after the last.
static FIRST_DAYS: [i32; USUAL_YEARS as usize * 12 + 1] = {
    let mut days = [0; USUAL_YEARS as usize * 12 + 1];
    let mut month = 0;
    while month < days.len() as u32 {
        days[month as usize] = computed(USUAL_FROM + month / 12, month % 12 + 1, 1);
        month += 1;
    }
    days
};

/// The day of a date in the years 1 to 9999, or `None` if there is no such date.
#[inline]
pub(super) fn day(year: u32, month: u32, day: u32) -> Option<i32> {
    let (years, months) = (year.wrapping_sub(USUAL_FROM), month.wrapping_sub(1));
    if years < USUAL_YEARS && months < 12 {
        let index = (years * 12 + months) as usize;
        let (first, end) = (FIRST_DAYS[index], FIRST_DAYS[index + 1]);
        let day = first.checked_add_unsigned(day.wrapping_sub(1))?;
        return (day < end).then_some(day);
    }
    unusual_day(year, month, day)
}

#[cold]
fn unusual_day(year: u32, month: u32, day: u32) -> Option<i32> {
    let valid = year.wrapping_sub(1) < LAST_YEAR && month.wrapping_sub(1) < 12 && day.wrapping_sub(1) < 31;
    if !valid || (day > 28 && day > days_of_month(year, month)) {
        return None;
    }
    Some(computed(year, month, day))
}

/// The day of a date that there is.
const fn computed(year: u32, month: u32, day: u32) -> i32 {
    // Counted from March, so that the leap day is a year's last: months 3 to 14.
    let (year, month) = if month > 2 { (year, month) } else { (year - 1, month + 12) };
    let centuries = year / 100;
    let leap_days = year / 4 - centuries + centuries / 4;
    let days_before_month = (153 * month - 457) / 5;
    (365 * year + leap_days + days_before_month + day).cast_signed() - EPOCH
}

#[inline]
fn days_of_month(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_date_follows_the_one_before_it() {
        assert_eq!(day(2000, 1, 1), Some(0));
        let mut last = day(1, 1, 1).expect("a date") - 1;
        for year in 1..=LAST_YEAR {
            for month in 1..=12 {
                let leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0);
                let length =
                    [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize - 1];
                for date in 0..=33 {
                    let expected = (1..=length).contains(&date).then(|| last + 1);
                    assert_eq!(day(year, month, date), expected, "{year}-{month}-{date}");
                    last = expected.unwrap_or(last);
                }
            }
        }
        assert_eq!([day(0, 1, 1), day(10_000, 1, 1), day(2000, 0, 1), day(2000, 13, 1)], [None; 4]);
    }
}
