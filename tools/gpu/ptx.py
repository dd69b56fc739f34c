"""Compiles the kernel's text for CUDA: ptx.py TEXT writes PTX to standard output, with NVIDIA's compiler from PyPI.

`ptx.py TEXT sm_90` prints instead what the loops of the pipelines are made of on that processor, which needs the
packages nvidia-cuda-nvrtc-cu12 and nvidia-cuda-nvdisasm.
"""

import collections
import ctypes
import glob
import re
import subprocess
import sys
import sysconfig
import tempfile


def compiler():
    """The library, which needs another one to be loaded before."""
    folder = sysconfig.get_paths()["purelib"] + "/nvidia"
    paths = sorted(glob.glob(folder + "/**/libnvrtc*.so*", recursive=True))
    paths = [path for path in paths if ".alt." not in path]
    for path in paths:
        if "builtins" in path:
            ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(next(path for path in paths if "builtins" not in path))


def compiled(text, architecture, kind):
    """The text compiled for an architecture: "PTX" or "CUBIN"."""
    nvrtc = compiler()
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    created = nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"kernels.cu", 0, None, None)
    options = [b"--gpu-architecture=" + architecture.encode(), b"-default-device"]
    failed = created or nvrtc.nvrtcCompileProgram(
        program, len(options), (ctypes.c_char_p * len(options))(*options)
    )
    if failed:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(log.value.decode())
    getattr(nvrtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
    result = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{kind}")(program, result)
    return result.raw


def pipelines(cubin):
    """Prints the instructions of the loops that count cells or add them up, by kind."""
    folder = sysconfig.get_paths()["purelib"] + "/nvidia"
    disassembler = glob.glob(folder + "/**/nvdisasm", recursive=True)[0]
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [disassembler, "-c", file.name]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    labels, loops = {}, []
    for at, line in enumerate(lines):
        if label := re.match(r"^\.(L_x_\d+):", line):
            labels[label.group(1)] = at
        branch = re.search(r"BRA.*?`\(\.(L_x_\d+)\)", line)
        if branch and branch.group(1) in labels:
            body = lines[labels[branch.group(1)] : at + 1]
            found = [re.search(r"^\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\d\s+)?([A-Z0-9_.]+)", one) for one in body]
            loops.append(collections.Counter(one.group(1).split(".")[0] for one in found if one))
    for loop in loops:
        # A loop takes one unit, by an atomic addition. It counts or adds a placement at a time.
        ends = max(loop["ATOMS"] - 1, loop["LDS"])
        is_pipeline = loop["POPC"] and ends > 1 and not (loop["LDS"] > 1 and loop["ATOMS"] > 2) and not loop["BAR"]
        if is_pipeline and loop["STG"] == 0:
            kind = "count" if loop["ATOMS"] > 1 else "sum"
            made_of = "".join(f" {kind} {count}" for kind, count in loop.most_common(12))
            print(f"{kind}, {ends:2} times: {loop.total()} instructions:{made_of}")


def main():
    with open(sys.argv[1], "rb") as file:
        text = file.read()
    if len(sys.argv) > 2:
        pipelines(compiled(text, sys.argv[2], "CUBIN"))
    else:
        # Volta and later, for drivers since version 525.
        sys.stdout.write(compiled(text, "compute_70", "PTX").rstrip(b"\0").decode())


main()
