//! A TCP proxy that records all bytes that pass.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Forwards connections to one address, and records the bytes of both sides. It serves until the
/// tests end.
pub(crate) struct Recorder {
    address: SocketAddr,
    record: Arc<Mutex<Vec<u8>>>,
}

impl Recorder {
    /// Forwards to `target`.
    pub(crate) fn before(target: &str) -> Recorder {
        let listener = TcpListener::bind("127.0.0.1:0").expect("some port is free");
        let address = listener.local_addr().expect("it is bound");
        let record = Arc::new(Mutex::new(Vec::new()));
        let (target, kept) = (target.to_string(), record.clone());
        thread::spawn(move || {
            for near in listener.incoming() {
                let near = near.expect("connections can be accepted");
                let far = TcpStream::connect(&target).expect("the coordinator serves");
                let twin = |stream: &TcpStream| stream.try_clone().expect("it is open");
                forward(twin(&near), twin(&far), kept.clone());
                forward(far, near, kept.clone());
            }
        });
        Recorder { address, record }
    }

    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// All bytes so far, of all connections and both directions.
    pub(crate) fn record(&self) -> Vec<u8> {
        self.record.lock().expect("nobody panics with it").clone()
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, record: Arc<Mutex<Vec<u8>>>) {
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(length @ 1..) = from.read(&mut bytes) {
            record.lock().expect("nobody panics with it").extend(&bytes[..length]);
            if to.write_all(&bytes[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}
