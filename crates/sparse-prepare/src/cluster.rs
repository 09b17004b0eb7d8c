//! A Ballista cluster that runs the plans.

use crate::error::{PrepareError, Result};
use ballista::prelude::{SessionConfigExt, SessionContextExt};
use datafusion::prelude::{SessionConfig, SessionContext, lit};
use std::fmt::Display;
use std::time::Duration;
use tokio::time::timeout;

/// How long the first plan may wait for an executor.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a cluster needs, before anything else is set.
pub(crate) fn config() -> SessionConfig {
    // Nobody else reads the files of a run, and a later run may write others at the same paths.
    SessionConfig::new().upgrade_for_ballista().set_bool("ballista.scheduler.share_file_statistics_cache", false)
}

/// A context whose plans the cluster runs, which is tried with a plan of one row.
pub(crate) async fn connect(scheduler: &str, ctx: &SessionContext) -> Result<SessionContext> {
    let wrong = |error: &dyn Display| {
        let rule = "must be the scheduler of a Ballista cluster, such as df://host:50050";
        PrepareError::invalid("--scheduler", format!("{rule}, got {scheduler}: {error}"))
    };
    let remote = SessionContext::remote_with_state(scheduler, ctx.state()).await.map_err(|error| wrong(&error))?;
    let one =
        remote.read_empty().and_then(|frame| frame.select(vec![lit(1).alias("one")])).map_err(|error| wrong(&error))?;
    match timeout(PATIENCE, one.collect()).await {
        Err(_) => Err(wrong(&format!("no executor ran a plan of one row within {} s", PATIENCE.as_secs()))),
        Ok(Err(error)) => Err(wrong(&error)),
        Ok(Ok(_)) => Ok(remote),
    }
}
