//! Stages of threads, as the library tells of them through `tracing`: a layer that adds them to the profile.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use halotile::profile::{Profile, STAGE, Span, SpanKind, Track};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// The name of the main thread.
pub const MAIN: &str = "main";

/// The layer; none where no profile is wanted.
pub fn layer<S>() -> Option<impl Layer<S>>
where
    S: tracing::Subscriber + for<'a> LookupSpan<'a>,
{
    let profile = Arc::clone(super::PROFILE.get()?);
    Some(Stages { profile }.with_filter(filter_fn(|metadata| metadata.target() == STAGE)))
}

struct Stages {
    profile: Arc<Profile>,
}

/// A stage that has begun.
struct Begun {
    name: String,
    at: Instant,
}

/// Reads the name of a stage off its span.
#[derive(Default)]
struct Name(String);

impl Visit for Name {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "name" {
            value.clone_into(&mut self.0);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

impl<S> Layer<S> for Stages
where
    S: tracing::Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut name = Name::default();
        attributes.record(&mut name);
        // The library enters a stage when it makes it, and leaves it when it is over.
        span.extensions_mut().insert(Begun { name: name.0, at: Instant::now() });
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(Begun { name, at }) = span.extensions_mut().remove() else { return };
        let track = Track::Thread(thread(&name));
        let (start, seconds) = (self.profile.at(at), at.elapsed().as_secs_f64());
        self.profile.add(Span { name: name.into(), track, start, seconds, host_seconds: 0.0, kind: SpanKind::Stage });
    }
}

/// The name of this thread. One that has none is called by its first stage, with a number.
fn thread(stage: &str) -> Arc<str> {
    static NAMELESS: AtomicUsize = AtomicUsize::new(1);
    thread_local! {
        static NAME: OnceCell<Arc<str>> = const { OnceCell::new() };
    }
    let make = || match std::thread::current().name() {
        Some(name) => name.into(),
        None => format!("thread {}: {stage}", NAMELESS.fetch_add(1, Relaxed)).into(),
    };
    NAME.with(|name| Arc::clone(name.get_or_init(make)))
}
