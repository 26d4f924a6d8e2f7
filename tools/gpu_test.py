#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of gpu-package/ on this machine's GPU, section by section, and writes docs/gpu-test-GPU.txt.

Sections that leave one another alone run at once. Each run has a limit of time, so that one that hangs leaves the
others' results. Exit status 0 only where every section is as it must be.
"""

import argparse
import dataclasses
import datetime
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import gpu_record

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Contracts skip what would take the process with it (LostCudaDevice shows it in processes of its own), and a device
# may lack a feature. Elsewhere a skipped test is one whose checkpoint is missing: nothing was shown then.
MAY_SKIP = ("contract", "device", "memcheck", "racecheck", "initcheck")
READ_UNWRITTEN = "FakeRecording.TheSelfTestComparesTheStepWithItself:WrittenInputs.TheSelfTestPoisonsTheScratchOfEachSize"
# Left out of initcheck: two tests are about what reads memory that nobody wrote, and loops that the device decides
# take it some 40 ms for each iteration.
LOOPS = "ControlFlow*"
# What has products of more than 64 rows.
OF_CUBLASLT = "CudaMatmul.AgreesWith*:CudaMatmul.BitsOfARowDoNotDependOnItsPlace:CudaMatmul.CountsTheProducts*"
SANITIZER_TOOLS = ("memcheck", "racecheck", "initcheck")
SANITIZER_PLACES = ["/usr/local/cuda/bin", "/usr/local/cuda/compute-sanitizer"]


@dataclasses.dataclass
class Job:
    """A command of one section; `kind` is that of gpu_record.Run."""

    section: str
    name: str
    command: list
    limit: float  # seconds
    gtest: bool = True
    sanitized: bool = False
    random_cases: bool = False
    env: dict = dataclasses.field(default_factory=dict)


def sharded(job, shards):
    """gtest deals the tests out to as many processes."""
    if shards <= 1:
        return [job]
    names = [f"{job.name}, part {index + 1} of {shards}" for index in range(shards)]
    return [
        dataclasses.replace(job, name=name, env={"GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(index)})
        for index, name in enumerate(names)
    ]


def sanitizer_phases(package, sanitizer, golden):
    """Phases of jobs that must be alone, and the jobs that need not."""
    alone, beside = [], []
    for tool in SANITIZER_TOOLS:
        check = [sanitizer, "--tool", tool, "--error-exitcode", "9"]
        contracts = [f"{package}/contract_cuda"]
        if tool == "memcheck":  # they provoke errors of CUDA's calls on purpose; what they do to memory counts
            contracts = ["--report-api-errors", "no", *contracts]
        elif tool == "initcheck":
            contracts = ["--print-limit", "20", *contracts, f"--gtest_filter=-{READ_UNWRITTEN}:{LOOPS}"]
        # Some compare the device's free memory before and after, or use all of it up, which other processes would
        # notice. None of their kernels has shared memory for which to race.
        if tool != "racecheck":
            alone.append([Job(tool, f"{tool} contract_cuda", check + contracts, 200, sanitized=True)])
        # cuBLASLt's kernels order their shared memory by barriers that racecheck does not know.
        leave = [f"--gtest_filter=-{OF_CUBLASLT}"] if tool == "racecheck" else []
        kernels = [*check, f"{package}/test_kernels_cuda", "--seconds=0", *leave]
        beside += sharded(Job(tool, f"{tool} test_kernels_cuda", kernels, 150, sanitized=True), 4)
        tokens = ["--tokens", "5,17,3,60,9,12,40,7,2,30,11,8,25,31,6,19,4", "--device", "cuda"]
        generate = [f"{package}/reprise", "generate", golden, *tokens, "--max-tokens", "6", "--print-ids", "--ignore-eos"]
        beside.append(Job(tool, f"{tool} reprise generate", check + generate, 90, gtest=False, sanitized=True))
    return alone, beside


def all_phases(package, options):
    """Lists of jobs; one list starts when the one before has ended. And what could not be run, by section."""
    cores = options.jobs

    def job(section, program, limit, *more, **fields):
        return Job(section, program, [f"{package}/{program}", *more], limit, **fields)

    beside = [job("device", "test_device_cuda", 60)]
    beside += sharded(job("golden", "test_cli_cuda", 90, "--gtest_filter=-CudaStories.*"), min(cores, 9))
    beside.append(job("stories", "test_cli_cuda", 60, "--gtest_filter=CudaStories.*"))
    beside += sharded(job("engine", "test_engine_cuda", 90), min(cores, 4))
    known = {"contract_cuda", "test_device_cuda", "test_cli_cuda", "test_engine_cuda", "test_kernels_cuda"}
    for path in sorted(package.glob("test_*_cuda")):
        if path.name not in known:
            beside.append(job(path.name[len("test_") : -len("_cuda")], path.name, 60))
    examples = sorted(path.name for path in package.glob("example_*_cuda"))
    beside += [job("examples", name, 60, gtest=False) for name in examples]
    missing = {} if examples else {"examples": ["the package holds none: is cuda_programs whole?"]}
    places = os.pathsep.join([os.environ.get("PATH", ""), *SANITIZER_PLACES])
    sanitizer = shutil.which("compute-sanitizer", path=places)
    sanitized_alone = []
    if sanitizer:
        golden = str(package.parent / "tests/golden/llama-mha-bf16")
        sanitized_alone, sanitized_beside = sanitizer_phases(package, sanitizer, golden)
        beside = sanitized_beside + beside
    else:
        for tool in SANITIZER_TOOLS:
            missing[tool] = ["compute-sanitizer was not found; it comes with NVIDIA's CUDA toolkit"]
    if shutil.which("cuobjdump", path=places):
        command = [sys.executable, "tools/check_sass.py", f"{package}/reprise"]
        beside.append(Job("sass", "check_sass reprise", command, 120, gtest=False))
    else:
        print("   cuobjdump was not found: whether the compiled kernels wait is not checked", file=sys.stderr)
    # Threads of one process share the GPU better than processes, between which it has to switch.
    seconds, processes = options.oracle_seconds, options.oracle_processes
    work = [f"--seconds={seconds:g}", f"--threads={max(1, cores // processes)}"]
    oracle = job("oracle", "test_kernels_cuda", seconds + 30, *work, random_cases=True)
    oracles = [dataclasses.replace(oracle, name=f"{oracle.name} {index + 1}") for index in range(processes)]
    return [[job("contract", "contract_cuda", 40)], *sanitized_alone, beside, oracles], missing


def environment(job):
    """Without what would choose among the tests or repeat them behind the record's back."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GTEST_")} | job.env


class Process:
    """A job that runs, in a process group of its own."""

    def __init__(self, job, folder, number):
        self.job = job
        self.report = f"{folder}/{number}.xml" if job.gtest else None
        self.log = open(f"{folder}/{number}.log", "w+b")  # pylint: disable=consider-using-with
        command = [*job.command, f"--gtest_output=xml:{self.report}", "--gtest_brief=1"] if job.gtest else job.command
        self.start = time.monotonic()
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            command,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env=environment(job),
            start_new_session=True,
        )

    def ended(self):
        """The run, once it is over; its time is up at the job's limit."""
        seconds = time.monotonic() - self.start
        late = seconds > self.job.limit
        if self.process.poll() is None and not late:
            return None
        status = self.stop()
        self.log.seek(0)
        output = self.log.read().decode(errors="replace")
        self.log.close()
        job = self.job
        return gpu_record.Run(job.name, status, seconds, output, self.report, late, job.sanitized, job.random_cases)

    def stop(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # children that it left behind, too
        except ProcessLookupError:
            pass
        return self.process.wait()


def run_phase(jobs, slots, folder, done):
    """At most `slots` jobs at once; appends (job, run) to `done`."""
    waiting = list(jobs)
    running = []
    try:
        while waiting or running:
            while waiting and len(running) < slots:
                running.append(Process(waiting.pop(0), folder, f"{time.monotonic_ns()}"))
            time.sleep(0.02)
            for process in list(running):
                run = process.ended()
                if run is not None:
                    running.remove(process)
                    done.append((process.job, run))
                    print(f"   {run.name} ended after {run.seconds:.1f} s", file=sys.stderr, flush=True)
    finally:
        for process in running:  # interrupted: in groups of their own they would go on
            process.stop()
            process.log.close()


def gpu_facts():
    """Name and driver of the first GPU; None where there is none."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    lines = done.stdout.strip().splitlines()
    return [part.strip() for part in lines[0].split(",")] if lines else None


def file_part(name):
    """"NVIDIA H200" -> "h200", "NVIDIA RTX 6000 Ada Generation" -> "rtx-6000-ada-generation"."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower().removeprefix("nvidia ")).strip("-")


def heading(gpu, package):
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    commit = (package / "commit").read_text(encoding="utf-8").strip()
    return f"device {gpu[0]}\ndriver {gpu[1]}\ndate {now}\ncommit {commit}\n"


def write_whole(path, text):
    """Never half a file."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", type=pathlib.Path, default=ROOT / "gpu-package")
    parser.add_argument("--record", type=pathlib.Path, help="where to write (default: docs/gpu-test-GPU.txt)")
    parser.add_argument("--sections", help="only these, comma-separated; printed, and written only where --record is given")
    parser.add_argument("--allow-skips", action="store_true", help="a missing checkpoint fails no section; the record tells it")
    parser.add_argument("--oracle-seconds", type=float, default=60, help="of random comparisons")
    parser.add_argument("--oracle-processes", type=int, default=1, help="that share the cores for them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes or threads at once")
    return parser.parse_args()


def run_sections(package, options):
    phases, missing = all_phases(package, options)
    names = list(dict.fromkeys(job.section for phase in phases for job in phase))
    names += [name for name in missing if name not in names]
    wanted = options.sections.split(",") if options.sections is not None else None
    unknown = [name for name in wanted or () if name not in names]
    if unknown:
        sys.exit(f"error: there is no section {unknown[0]!r}; there are {', '.join(names)}")
    done = []
    with tempfile.TemporaryDirectory() as folder:
        for phase in phases:
            jobs = []
            for job in phase:
                program = next(part for part in job.command if part.startswith(f"{package}/"))
                if wanted and job.section not in wanted:
                    continue
                if not os.access(program, os.X_OK):
                    text = f"{os.path.basename(program)} is not in the package"
                    if text not in missing.setdefault(job.section, []):
                        missing[job.section].append(text)
                    continue
                jobs.append(job)
            # Most of them wait for the GPU or for CUDA to start; queueing would add their limits up.
            run_phase(jobs, 2 * options.jobs, folder, done)
        chosen = [name for name in names if not wanted or name in wanted]
        chosen.sort(key=lambda name: name in SANITIZER_TOOLS)  # last, however early it started
        runs = {name: [run for job, run in done if job.section == name] for name in chosen}
        may_skip = chosen if options.allow_skips else MAY_SKIP
        return [gpu_record.Section(name, runs[name], missing.get(name, ()), name in may_skip) for name in chosen]


def main():
    options = parse_options()
    package = options.package.resolve()
    if not os.access(package / "reprise", os.X_OK):
        sys.exit(f"error: {package} is not there: make gpu-package builds it, on any machine with nvcc")
    gpu = gpu_facts()
    if gpu is None:
        sys.exit("error: no NVIDIA GPU is visible here (nvidia-smi shows none)")
    start = time.monotonic()
    head = heading(gpu, package)
    print(head, flush=True)
    sections = run_sections(package, options)
    summary = gpu_record.table(sections, time.monotonic() - start, options.sections is None)
    texts = [head, *(section.text() for section in sections), summary]
    text = "\n".join(texts)
    print(text[len(head) :], flush=True)
    record = options.record
    if record is None and options.sections is None:
        record = ROOT / "docs" / f"gpu-test-{file_part(gpu[0])}.txt"
    if record:
        write_whole(record, text)
    sys.exit(0 if sections and all(section.passed for section in sections) else 1)


if __name__ == "__main__":
    main()
