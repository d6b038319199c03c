# Arguments of commands. Linux refuses a command of more than 128 KiB, so long ones are passed in files. A
# file is named after its content: if that changes, so does the job's parameter, and the job is due.

import hashlib

LONGEST = 30_000  # characters of an argument on a command line


class Arguments:
    """The files of long arguments. They are written only by a Snakemake that runs jobs."""

    def __init__(self, folder, started):
        self.folder, self.started = Path(folder), started
        self.contents = {}

    def start(self):
        self.started = True
        for file, text in self.contents.items():
            self.write(file, text)

    def argument(self, text):
        """A text as an argument: itself, or @FILE."""
        if len(text) <= LONGEST:
            return text
        file = self.folder / hashlib.sha256(text.encode()).hexdigest()
        self.contents[file] = text
        if self.started:
            self.write(file, text)
        return f"@{file}"

    def write(self, file, text):
        content = text.encode()
        if not file.exists() or file.stat().st_size != len(content):
            write_atomically(file, content)


# A SLURM job has a Snakemake of its own, which need not wait for a file from another machine.
ARGUMENTS = Arguments(f"results/{MAIN}/arguments", not workflow.is_main_process)


def as_argument(function):
    """Return a function that gives the result of another one as an argument."""

    def look_up(wildcards):
        return ARGUMENTS.argument(function(wildcards))

    return look_up


def as_list(files):
    """The paths of a rule's named input, which is one file or several."""
    return [str(files)] if isinstance(files, str) else [str(file) for file in files]


def files_as_arguments(files):
    """Files as arguments: their paths, or @FILE for a list of them."""
    paths = as_list(files)
    if sum(map(len, paths)) <= LONGEST:
        return paths
    return [ARGUMENTS.argument(json.dumps(paths))]


def input_arguments(wildcards, input):
    return files_as_arguments(input)


def result_arguments(wildcards, input):
    return files_as_arguments(input.results)
