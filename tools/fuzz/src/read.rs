//! Reads bytes as messages of every kind, as far as both ends go with them.

use std::fmt::Debug;

use board::{MethodChoice, PlanIndex, Problem};
use farm::{CoordinatorMessage, JobId, JobView, Request, WorkerMessage};
use prost::Message;
use wire::v1::ask_request::Request as Asked;
use wire::{WireError, v1};

/// A kind of message and what reads it.
pub struct Reader {
    /// The message's name, without its package.
    pub name: &'static str,
    /// Reads bytes so, and panics where what was read is not what it is when written and read
    /// again.
    pub read: fn(&[u8]),
}

/// A reader of a message that converts to one of our own types, and one that just decodes.
macro_rules! reader {
    ($name:ident) => {
        reader!($name, |_| Ok(()))
    };
    ($name:ident, $convert:expr) => {
        Reader { name: stringify!($name), read: |bytes| read::<v1::$name, _>(bytes, $convert) }
    };
}

/// Every message that begins or ends a call, and a job, which most answers consist of.
pub const READERS: &[Reader] = &[
    reader!(WorkRequest, WorkerMessage::try_from),
    reader!(WorkResponse, order),
    reader!(Job, job),
    reader!(AskRequest, ask),
    reader!(AskResponse),
    reader!(ListRequest),
    reader!(ListResponse),
    reader!(JobRequest),
    reader!(CreateTokenRequest),
    reader!(BackupRequest),
    reader!(Piece),
    reader!(CreateTokenResponse),
    reader!(ListTokensRequest),
    reader!(ListTokensResponse),
    reader!(RevokeTokenRequest),
    reader!(Token),
    reader!(ListWorkersRequest),
    reader!(ListWorkersResponse),
];

fn read<M, T>(bytes: &[u8], convert: fn(M) -> Result<T, WireError>)
where
    M: Message + Default + PartialEq + Debug,
    T: PartialEq + Debug,
{
    let Ok(message) = M::decode(bytes) else { return };
    let again = M::decode(message.encode_to_vec().as_slice()).expect("it was just encoded");
    assert!(again == message, "{message:?} became {again:?}");
    let converted = convert(message);
    assert_eq!(converted, convert(again));
    if let Err(refusal) = converted {
        assert!(!refusal.to_string().is_empty());
    }
}

fn order(response: v1::WorkResponse) -> Result<CoordinatorMessage, WireError> {
    let order = CoordinatorMessage::try_from(response)?;
    assert_eq!(
        CoordinatorMessage::try_from(v1::WorkResponse::from(order.clone())),
        Ok(order.clone())
    );
    Ok(order)
}

fn job(job: v1::Job) -> Result<JobView, WireError> {
    let job = JobView::try_from(job)?;
    assert_eq!(JobView::try_from(v1::Job::from(job.clone())), Ok(job.clone()));
    Ok(job)
}

/// What is asked for; of a submission nothing, because it has no plan yet.
fn ask(request: v1::AskRequest) -> Result<Option<Request>, WireError> {
    Ok(match request.request.ok_or(WireError::Missing("request"))? {
        Asked::Submit(v1::Submissions { jobs, .. }) => {
            jobs.into_iter().try_for_each(submission).map(|()| None)?
        }
        Asked::Change(change) => Some(change.with(1, farm::AuditScope::Machines)?),
        Asked::Remove(job) => Some(Request::Remove(JobId(job))),
        Asked::Trust(trust) => Some(trust.try_into()?),
    })
}

/// As far as a plan, where that takes no time.
fn submission(request: v1::Submit) -> Result<(), WireError> {
    const SMALL: u32 = 7;
    let problem = Problem::try_from(request.problem.ok_or(WireError::Missing("problem"))?)?;
    let choice = MethodChoice::try_from(request.method.ok_or(WireError::Missing("method"))?)?;
    assert_eq!(Problem::try_from(v1::Problem::from(problem)), Ok(problem));
    if problem.n() <= SMALL || problem.n() > board::Given::MAX_N {
        let method = choice.for_problem(problem);
        let index = PlanIndex::new(problem, method);
        assert_eq!(index.is_ok(), method.cuts(problem), "{problem} by {method}");
    }
    assert_eq!(Problem::from_text(&problem.text(), problem.n()), Some(problem));
    Ok(())
}
