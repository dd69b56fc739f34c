//! A fake coordinator.

use std::pin::Pin;
use std::sync::mpsc;
use std::thread;

use service::wire::v1;
use service::wire::v1::farm_service_server::{FarmService, FarmServiceServer};
use tokio_stream::Stream;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::Status;
use tonic::transport::Server;

/// The messages of such a coordinator in a session.
pub(crate) type Answers = Pin<Box<dyn Stream<Item = Result<v1::WorkResponse, Status>> + Send>>;

/// Serves until the tests end, and returns the URL.
pub(crate) fn serve(service: impl FarmService) -> String {
    let (sender, address) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().expect("threads can be started");
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
            let listener = listener.expect("some port is free");
            sender.send(listener.local_addr().expect("it is bound")).expect("the test waits");
            let server = Server::builder().add_service(FarmServiceServer::new(service));
            server.serve_with_incoming(TcpListenerStream::new(listener)).await
        })
    });
    format!("http://{}", address.recv().expect("it is bound"))
}
