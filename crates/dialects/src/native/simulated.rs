//! The syntax of simulated devices in job files: parsing and formatting.

use model::plan::{
    CacheContents, SimulatedCache, SimulatedCount, SimulatedDevice, SimulatedFault, SimulatedGarbageCollection,
    SimulatedLayer, SimulatedNeighbour, SimulatedPause, SimulatedService, SimulatedWriteBuffer,
};
use model::{Bytes, Direction, Nanos};

use super::values;

/// Names of the properties of a simulated device.
pub(super) const PROPERTY_NAMES: &str = "size, servers, service, iops-cap, bandwidth-cap, stall, submit-cost, inline, layer, cache, \
                                write-buffer, collection, drift, neighbour, fault, host-pause";

/// Sets one property of a simulated device.
///
/// # Errors
/// A message about the mistake.
pub(super) fn set_simulated(device: &mut SimulatedDevice, key: &str, text: &str) -> Result<(), String> {
    match key {
        "size" => device.size = values::parse_block(text)?,
        "servers" => device.servers = values::parse_count(text, 1, 1 << 20)? as u32,
        "service" => device.service = parse_service(text)?,
        "iops-cap" => device.iops_cap = values::parse_count(text, 0, u64::MAX)?,
        "bandwidth-cap" => device.bytes_per_second_cap = values::parse_size(text.trim_end_matches("/s"))?.0,
        "stall" => {
            let shape = "a stall is written as `START LENGTH`, such as `2s 300ms`";
            device.stalls.push(parse_pause(text, shape)?);
        }
        "host-pause" => {
            let shape = "a pause of the host is written as `START LENGTH`, such as `2s 300ms`";
            device.host_pauses.push(parse_pause(text, shape)?);
        }
        "fault" => device.faults.push(parse_fault(text)?),
        "submit-cost" => device.submit_cost_ns = values::parse_time(text)?,
        "inline" => device.inline = values::parse_flag(text)?,
        "layer" => device.layers.push(parse_layer(text)?),
        "cache" => device.cache = Some(parse_cache(text)?),
        "write-buffer" => {
            let [size, slowdown] = split_words(text, "a write buffer is written as `SIZE FACTOR`, such as `8GiB 5`")?;
            device.write_buffer = Some(SimulatedWriteBuffer {
                size: values::parse_size(size)?,
                slowdown: parse_non_negative(slowdown)?,
            });
        }
        "collection" => {
            let shape = "collection is written as `INTERVAL FIRST-PAUSE GROWTH-FACTOR`, such as `2s 20ms 1.1`";
            let [every, first, growth] = split_words(text, shape)?;
            device.garbage_collection = Some(SimulatedGarbageCollection {
                interval_ns: values::parse_time(every)?,
                first_ns: values::parse_time(first)?,
                growth: parse_non_negative(growth)?,
            });
        }
        "drift" => device.drift_per_second = parse_non_negative(text)?,
        "neighbour" => {
            let shape = "a neighbour is written as `EVERY LENGTH FACTOR`, such as `10s 2s 4`";
            let [every, length, slowdown] = split_words(text, shape)?;
            device.neighbour = Some(SimulatedNeighbour {
                interval_ns: values::parse_time(every)?,
                length_ns: values::parse_time(length)?,
                slowdown: parse_non_negative(slowdown)?,
            });
        }
        other => return Err(format!("unknown property `{other}` of a simulated device")),
    }
    Ok(())
}

/// `100us`, `exponential 100us`, `uniform 50us 200us`, `lognormal 100us 0.5`,
/// `bimodal 100us 5ms 0.1`.
fn parse_service(text: &str) -> Result<SimulatedService, String> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    match words[..] {
        [time] => Ok(SimulatedService::Constant {
            time_ns: values::parse_time(time)?,
        }),
        ["exponential", mean] => Ok(SimulatedService::Exponential {
            mean_ns: values::parse_time(mean)?,
        }),
        ["uniform", low, high] => Ok(SimulatedService::Uniform {
            low_ns: values::parse_time(low)?,
            high_ns: values::parse_time(high)?,
        }),
        ["lognormal", median, sigma] => Ok(SimulatedService::Lognormal {
            median_ns: values::parse_time(median)?,
            sigma: parse_non_negative(sigma)?,
        }),
        ["bimodal", fast, slow, share] => Ok(SimulatedService::Bimodal {
            fast_ns: values::parse_time(fast)?,
            slow_ns: values::parse_time(slow)?,
            slow_share: parse_non_negative(share)?,
        }),
        _ => Err(
            "a service time is `100us`, `exponential 100us`, `uniform 50us 200us`, `lognormal 100us 0.5` or \
                  `bimodal 100us 5ms 0.1`"
                .into(),
        ),
    }
}

/// `iops 1000`, followed by any of `burst 3000`, `bucket 5400000`, `every 250ms`, `unit 256KiB`,
/// `reads`, `writes`, `trims` and `before-cache`; the same for `bandwidth 100MiB`.
fn parse_layer(text: &str) -> Result<SimulatedLayer, String> {
    const SHAPE: &str = "a layer is written as `iops RATE` or `bandwidth RATE`, with `burst RATE`, `bucket AMOUNT`, \
                         `every TIME`, `unit SIZE`, `reads`, `writes`, `trims`, `before-cache` behind it";
    let mut words = text.split_ascii_whitespace();
    let counts = match words.next() {
        Some("iops") => SimulatedCount::Operations,
        Some("bandwidth") => SimulatedCount::Bytes,
        _ => return Err(SHAPE.into()),
    };
    let amount = |word: Option<&str>| {
        let word = word.ok_or(SHAPE)?;
        match counts {
            SimulatedCount::Operations => values::parse_count(word, 0, u64::MAX),
            SimulatedCount::Bytes => values::parse_size(word.trim_end_matches("/s")).map(|size| size.0),
        }
    };
    let mut layer = SimulatedLayer {
        counts,
        rate: amount(words.next())?,
        ..SimulatedLayer::default()
    };
    while let Some(word) = words.next() {
        match word {
            "burst" => layer.burst = amount(words.next())?,
            "bucket" => layer.bucket = amount(words.next())?,
            "every" => layer.quantum_ns = values::parse_time(words.next().ok_or(SHAPE)?)?,
            "unit" => layer.unit = values::parse_size(words.next().ok_or(SHAPE)?)?,
            "reads" => layer.only = Some(Direction::Read),
            "writes" => layer.only = Some(Direction::Write),
            "trims" => layer.only = Some(Direction::Trim),
            "before-cache" => layer.before_cache = true,
            _ => return Err(SHAPE.into()),
        }
    }
    Ok(layer)
}

/// `share 0.9 50us` or `first 2GiB 50us`.
fn parse_cache(text: &str) -> Result<SimulatedCache, String> {
    let [what, amount, time] = split_words(
        text,
        "a cache is written as `share 0.9 50us` (of the reads) or `first 2GiB 50us` (of the device)",
    )?;
    let holds = match what {
        "share" => CacheContents::Share {
            hits: parse_non_negative(amount)?,
        },
        "first" => CacheContents::First {
            size: values::parse_size(amount)?,
        },
        other => {
            return Err(format!(
                "a cache holds a `share` of the reads or the `first` bytes, not `{other}`"
            ));
        }
    };
    Ok(SimulatedCache {
        holds,
        time_ns: values::parse_time(time)?,
    })
}

fn parse_pause(text: &str, shape: &str) -> Result<SimulatedPause, String> {
    let [at, length] = split_words(text, shape)?;
    Ok(SimulatedPause::new(
        values::parse_time(at)?,
        values::parse_time(length)?,
    ))
}

/// `operation 600 errno 5`, `operation 600 half`, `from 600 errno 28` or `bytes 4GiB 1MiB errno 5`.
fn parse_fault(text: &str) -> Result<SimulatedFault, String> {
    let number = |text: &str| values::parse_count(text, 1, u64::MAX);
    let errno = |text: &str| values::parse_count(text, 1, 4095).map(|errno| errno as i32);
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    match words[..] {
        ["operation", operation, "half"] => Ok(SimulatedFault::nth(number(operation)?, 0)),
        ["operation", operation, "errno", error] => Ok(SimulatedFault::nth(number(operation)?, errno(error)?)),
        ["from", operation, "errno", error] => Ok(SimulatedFault::From {
            operation: number(operation)?,
            errno: errno(error)?,
        }),
        ["bytes", offset, length, "errno", error] => Ok(SimulatedFault::Bytes {
            offset: values::parse_size(offset)?.0,
            length: values::parse_size(length)?.0,
            errno: errno(error)?,
        }),
        _ => Err(
            "a fault is written as `operation 600 errno 5`, `operation 600 half`, `from 600 errno 28` or \
             `bytes 4GiB 1MiB errno 5`"
                .into(),
        ),
    }
}

/// Splits a text into exactly `N` words.
fn split_words<'a, const N: usize>(text: &'a str, shape: &str) -> Result<[&'a str; N], String> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    words.try_into().map_err(|_| shape.to_owned())
}

fn parse_non_negative(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err(format!("`{text}` is not a number of at least 0")),
    }
}

/// Formats a layer in the syntax of [`set_simulated`].
pub(crate) fn format_layer(layer: &SimulatedLayer) -> String {
    let SimulatedLayer {
        counts,
        rate,
        burst,
        bucket,
        quantum_ns,
        unit,
        only,
        before_cache,
    } = *layer;
    let mut text = match counts {
        SimulatedCount::Operations => format!("iops {rate}"),
        SimulatedCount::Bytes => format!("bandwidth {rate}"),
    };
    if burst > 0 {
        text += &format!(" burst {burst}");
    }
    if bucket > 0 {
        text += &format!(" bucket {bucket}");
    }
    if quantum_ns > Nanos(0) {
        text += &format!(" every {}ns", quantum_ns.0);
    }
    if unit > Bytes(0) {
        text += &format!(" unit {}", unit.0);
    }
    text += match only {
        None => "",
        Some(Direction::Read) => " reads",
        Some(Direction::Write) => " writes",
        Some(Direction::Trim) => " trims",
    };
    if before_cache {
        text += " before-cache";
    }
    text
}

/// Formats a fault in the syntax of [`set_simulated`].
fn format_fault(fault: &SimulatedFault) -> String {
    match *fault {
        SimulatedFault::Nth { operation, errno: 0 } => format!("operation {operation} half"),
        SimulatedFault::Nth { operation, errno } => format!("operation {operation} errno {errno}"),
        SimulatedFault::From { operation, errno } => format!("from {operation} errno {errno}"),
        SimulatedFault::Bytes { offset, length, errno } => format!("bytes {offset} {length} errno {errno}"),
    }
}

/// Properties that change the speed of a simulated device or make it fail, as keys and values.
pub(crate) fn disturbance_options(device: &SimulatedDevice) -> Vec<(&'static str, String)> {
    let mut options = Vec::new();
    options.extend(device.layers.iter().map(|layer| ("layer", format_layer(layer))));
    if let Some(SimulatedCache { holds, time_ns }) = device.cache {
        let holds = match holds {
            CacheContents::Share { hits } => format!("share {hits}"),
            CacheContents::First { size } => format!("first {}", size.0),
        };
        options.push(("cache", format!("{holds} {}ns", time_ns.0)));
    }
    if let Some(SimulatedWriteBuffer { size, slowdown }) = device.write_buffer {
        options.push(("write-buffer", format!("{} {slowdown}", size.0)));
    }
    if let Some(collection) = device.garbage_collection {
        let (every, first) = (collection.interval_ns.0, collection.first_ns.0);
        options.push(("collection", format!("{every}ns {first}ns {}", collection.growth)));
    }
    if device.drift_per_second != 0.0 {
        options.push(("drift", device.drift_per_second.to_string()));
    }
    if let Some(neighbour) = device.neighbour {
        let (every, length) = (neighbour.interval_ns.0, neighbour.length_ns.0);
        options.push(("neighbour", format!("{every}ns {length}ns {}", neighbour.slowdown)));
    }
    options.extend(device.faults.iter().map(|fault| ("fault", format_fault(fault))));
    for pause in &device.host_pauses {
        options.push(("host-pause", format!("{}ns {}ns", pause.at_ns.0, pause.length_ns.0)));
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formatting and parsing a device preserves every property.
    #[test]
    fn devices_survive_a_round_trip() {
        let texts = [
            (
                "layer",
                "iops 300 burst 3000 bucket 5400000 every 250ms unit 256KiB writes",
            ),
            ("layer", "bandwidth 100MiB reads before-cache"),
            ("layer", "iops 7 trims"),
            ("cache", "first 2GiB 50us"),
            ("write-buffer", "8GiB 5.5"),
            ("collection", "2s 20ms 1.1"),
            ("drift", "0.01"),
            ("neighbour", "10s 2s 4"),
            ("fault", "operation 600 errno 5"),
            ("fault", "operation 601 half"),
            ("fault", "from 700 errno 28"),
            ("fault", "bytes 4GiB 1MiB errno 5"),
            ("host-pause", "1s 300ms"),
        ];
        let mut device = SimulatedDevice::default();
        for (key, text) in texts {
            set_simulated(&mut device, key, text).unwrap();
        }
        let mut reparsed = SimulatedDevice::default();
        for (key, text) in disturbance_options(&device) {
            set_simulated(&mut reparsed, key, &text).unwrap();
        }
        assert_eq!(reparsed, device);
        assert_eq!(device.layers[0].quantum_ns, Nanos::millis(250));
        set_simulated(&mut reparsed, "cache", "share 0.9 50us").unwrap();
        assert_eq!(reparsed.cache.unwrap().holds, CacheContents::Share { hits: 0.9 });
    }

    #[test]
    fn mistakes_are_reported() {
        let mut device = SimulatedDevice::default();
        for (key, text) in [
            ("layer", "1000"),
            ("layer", "iops"),
            ("layer", "iops 5 sometimes"),
            ("cache", "half 3us 1"),
            ("write-buffer", "8GiB"),
            ("collection", "2s 20ms -1"),
            ("neighbour", "10s"),
            ("drift", "much"),
            ("service", "bimodal 1us"),
            ("fault", "operation 0 errno 5"),
            ("fault", "operation 3 errno 0"),
            ("fault", "operation 3"),
            ("fault", "from 3 half"),
            ("host-pause", "1s"),
            ("stall", "1s 2s 3s"),
        ] {
            assert!(set_simulated(&mut device, key, text).is_err(), "{key} = {text}");
        }
    }
}
