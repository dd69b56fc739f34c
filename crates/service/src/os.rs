//! Functions that differ between systems: permissions of files, free space, and the identity of the
//! machine.

use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

use farm::Principal;
#[cfg(unix)]
use ledger::{OtherOwner, folder_of, owner_elsewhere};

/// The name of the machine that this process runs on. It is made of the random number that Linux
/// draws at each start of the system, because the containers of one host share this number and not
/// their host names. It is [`Principal::UNKNOWN`] where there is no such number.
pub fn machine() -> String {
    let drawn = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = drawn.chars().filter(char::is_ascii_hexdigit).take(12).collect();
    match digits.len() {
        12 => format!("{}{digits}", Principal::BOOT),
        _ => Principal::UNKNOWN.into(),
    }
}

/// The bytes that this process may still write to the file system of a folder.
#[cfg(unix)]
pub(crate) fn free_space(folder: &Path) -> io::Result<u64> {
    let system = rustix::fs::statvfs(folder)?;
    Ok(system.f_bavail * system.f_frsize)
}

#[cfg(windows)]
pub(crate) fn free_space(folder: &Path) -> io::Result<u64> {
    use std::os::windows::ffi::OsStrExt as _;
    let name: Vec<u16> = folder.as_os_str().encode_wide().chain([0]).collect();
    let mut free = 0;
    // SAFETY: the name ends with a zero, and the number is written to.
    let reported = unsafe {
        windows_sys::Win32::Storage::FileSystem::GetDiskFreeSpaceExW(
            name.as_ptr(),
            &mut free,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        )
    };
    if reported == 0 { Err(io::Error::last_os_error()) } else { Ok(free) }
}

/// Opens a pipe or a device to be written to. It fails for a pipe that nobody reads, because
/// waiting for a reader may never end. To write waits while the pipe is full.
#[cfg(unix)]
pub(crate) fn open_to_write(path: &Path) -> io::Result<fs::File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = OFlags::NONBLOCK.bits() as i32;
    let opened = fs::File::options().write(true).custom_flags(flags).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(code) if code == rustix::io::Errno::NXIO.raw_os_error() => {
            io::Error::other("nobody reads it: start its reader first")
        }
        _ => error,
    })?;
    rustix::fs::fcntl_setfl(&file, OFlags::empty())?;
    Ok(file)
}

#[cfg(not(unix))]
pub(crate) fn open_to_write(path: &Path) -> io::Result<fs::File> {
    fs::File::options().write(true).open(path)
}

/// Makes a folder that only its owner can enter, if there is none.
#[cfg(unix)]
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Makes a folder if there is none. Whoever can enter the folder around it can enter it, too. On
/// Windows, these are only the user and administrators if it is below the user's own folder.
#[cfg(not(unix))]
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    if !path.exists() {
        let folder = path.display();
        tracing::warn!(%folder, "users who can read the folder around this one can read the secrets in it");
    }
    fs::create_dir_all(path)
}

/// Makes files with the mode of any new file.
#[cfg(unix)]
pub(crate) fn let_others_read(builder: &mut tempfile::Builder<'_, '_>) {
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
}

/// Does nothing: the folder decides who can read a new file.
#[cfg(not(unix))]
pub(crate) fn let_others_read(_: &mut tempfile::Builder<'_, '_>) {}

/// Gives a file the owner and the group that `before` has. Returns whether the system allowed it.
#[cfg(unix)]
pub(crate) fn give(file: &fs::File, before: &Metadata) -> bool {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    fchown(file, Some(before.uid()), Some(before.gid())).is_ok()
}

/// Does nothing: a file belongs to the user who made it.
#[cfg(not(unix))]
pub(crate) fn give(_: &fs::File, _: &Metadata) -> bool {
    true
}

/// Refuses a secret, or a folder of secrets, that other users can read.
#[cfg(unix)]
pub(crate) fn check_mode(found: &Metadata, path: &Path) -> io::Result<()> {
    let mode = std::os::unix::fs::MetadataExt::mode(found);
    if mode & 0o007 == 0 {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "other users may read it (mode {:o}); run `chmod o= {}`, or give a container's secret the mode 0440",
        mode & 0o777,
        path.display()
    )))
}

/// Refuses a folder that neither this process's user nor root owns.
#[cfg(unix)]
pub(crate) fn check_owner(found: &Metadata) -> io::Result<()> {
    match owner_elsewhere(found) {
        None => Ok(()),
        Some(owner) => Err(io::Error::other(format!("{owner} owns the folder"))),
    }
}

/// Refuses an open secret file, which `path` names, if another user may have planted it.
#[cfg(unix)]
pub(crate) fn check_secret(found: &Metadata, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let folder = fs::metadata(folder_of(path))?;
    let is_root = rustix::process::geteuid().is_root();
    let is_of_service = |owner: &OtherOwner| is_root && owner.owns(&folder);
    if let Some(owner) = owner_elsewhere(found).filter(|owner| !is_of_service(owner)) {
        let path = path.display();
        let text = format!("{owner} owns it; use a copy of yours (`install -m 600 {path} COPY`)");
        return Err(io::Error::other(text));
    }
    if found.nlink() > 1 {
        let names = found.nlink();
        let text = format!("it has {names} names, and another user may have made one; use a copy");
        return Err(io::Error::other(text));
    }
    check_folder(&folder, folder_of(path), Some(found))
}

/// Refuses to replace a secret that is another user's, or a file in a folder where other users may
/// replace it in turn. `found` is what is at `path`, if anything is. Returns it if the new secret
/// may take its owner, group and mode: another user may have made a second name of a file.
#[cfg(unix)]
pub(crate) fn check_replaced(found: Option<Metadata>, path: &Path) -> io::Result<Option<Metadata>> {
    if let Some(owner) = found.as_ref().and_then(owner_elsewhere) {
        let text = format!("{owner} owns it: remove it, or name another file");
        return Err(io::Error::other(text));
    }
    // If there is no folder, to make a file there fails, too.
    if let Ok(folder) = fs::metadata(folder_of(path)) {
        check_folder(&folder, folder_of(path), None)?;
    }
    let has_one_name = |it: &Metadata| std::os::unix::fs::MetadataExt::nlink(it) == 1;
    Ok(found.filter(|found| found.is_file() && has_one_name(found)))
}

/// Refuses the folder at `path` if all users may write to it and other users may replace a file in
/// it: all of them, unless it is sticky, and its owner, unless that is this process's user, root,
/// or, for root, the owner of `file`, who has that file anyway. Whoever uses a folder that only its
/// owner or a group may write to, as one of a project, trusts them.
#[cfg(unix)]
fn check_folder(folder: &Metadata, path: &Path, file: Option<&Metadata>) -> io::Result<()> {
    const STICKY: u32 = 0o1000;
    let mode = std::os::unix::fs::MetadataExt::mode(folder);
    let path = path.display();
    if mode & 0o002 == 0 {
        return Ok(());
    }
    if mode & STICKY == 0 {
        return Err(io::Error::other(format!(
            "other users may replace the files of its folder: run `chmod o-w {path}` or `chmod +t {path}`"
        )));
    }
    let file = file.filter(|_| rustix::process::geteuid().is_root());
    match owner_elsewhere(folder) {
        Some(other) if !file.is_some_and(|file| other.owns(file)) => {
            Err(io::Error::other(format!(
                "{other} owns its folder {path} and may replace the files in it: use a folder of yours"
            )))
        }
        _ => Ok(()),
    }
}

/// Refuses a link that another user made in a folder to which all users may write. Elsewhere it was
/// made by who looks after the folder.
#[cfg(unix)]
pub(crate) fn check_link(path: &Path) -> io::Result<()> {
    if std::os::unix::fs::MetadataExt::mode(&fs::metadata(folder_of(path))?) & 0o002 == 0 {
        return Ok(());
    }
    match owner_elsewhere(&fs::symlink_metadata(path)?) {
        None => Ok(()),
        Some(owner) => Err(io::Error::other(format!(
            "{owner} made the link {}: name the file that it leads to, or another one",
            path.display()
        ))),
    }
}

/// Refuses to write a secret to an open pipe or device that is another user's, or to a pipe that
/// others may read.
#[cfg(unix)]
pub(crate) fn check_stream(found: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    if let Some(owner) = owner_elsewhere(found) {
        return Err(io::Error::other(format!("{owner} owns it: name another")));
    }
    let kind = found.file_type();
    if kind.is_char_device() || (kind.is_fifo() && found.mode() & 0o004 == 0) {
        return Ok(());
    }
    Err(io::Error::other("it is neither a device nor a pipe that other users cannot read"))
}

#[cfg(not(unix))]
pub(crate) fn check_mode(_: &Metadata, _: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn check_owner(_: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn check_secret(_: &Metadata, _: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn check_replaced(found: Option<Metadata>, _: &Path) -> io::Result<Option<Metadata>> {
    Ok(found)
}

#[cfg(not(unix))]
pub(crate) fn check_link(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn check_stream(_: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_its_start_and_not_its_name() {
        let drawn =
            std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("it is Linux");
        let digits = machine().strip_prefix(Principal::BOOT).expect("it is known").to_owned();
        assert!(drawn.replace('-', "").starts_with(&digits) && digits.len() == 12, "{digits}");
    }
}
