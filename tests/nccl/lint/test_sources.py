"""Every kind of file: what it sets, in which line, and what its reader will misunderstand."""

from __future__ import annotations

import pytest

from gpu_fabric.nccl.lint import lint
from gpu_fabric.nccl.lint.sources import Format, detect_format, is_topology, read_source


def assignments(path: str, text: str) -> list[tuple[int, str, str | None]]:
    return [(entry.line, entry.name, entry.value) for entry in read_source(path, text).assignments]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("nccl.conf", "", Format.CONF),
        ("/etc/.nccl.conf", "", Format.CONF),
        ("nccl.conf", "export NCCL_DEBUG=WARN\n", Format.CONF),
        ("hopper.conf", "NCCL_DEBUG=WARN\n# a remark with $(words)\n", Format.CONF),
        ("hopper.conf", "# values\nexport NCCL_DEBUG=WARN\n", Format.SHELL),
        ("hopper.conf", "NCCL_BUFFSIZE=$((4 * 1024))\n", Format.SHELL),
        ("hopper.conf", "NCCL_TOPO_FILE=$HOME/topo.xml\n", Format.SHELL),
        ("hopper.conf", 'CPU_BIND="mask_cpu:ff"\nNCCL_DEBUG=WARN\n', Format.SHELL),
        ("hopper.conf", "#!/bin/bash\nNCCL_DEBUG=WARN\n", Format.SHELL),
        ("hopper.conf", "\ufeff#!/bin/bash\nNCCL_DEBUG=WARN\n", Format.SHELL),
        ("entry.sh", "", Format.SHELL),
        ("entry.csh", "", Format.SHELL),
        ("entry", "#!/usr/bin/env bash\n", Format.SHELL),
        ("train.sbatch", "", Format.SLURM),
        ("train.sh", "#!/bin/bash\n#SBATCH -N 4\n", Format.SLURM),
        ("Dockerfile", "", Format.DOCKERFILE),
        ("Dockerfile.cuda", "", Format.DOCKERFILE),
        ("train.dockerfile", "", Format.DOCKERFILE),
        ("job.yaml", "", Format.KUBERNETES),
        ("job.yml", "", Format.KUBERNETES),
        ("printed", "HOME=/root\nNCCL_DEBUG=WARN\n", Format.ENV),
        ("printed", "NCCL_DEBUG=WARN\nexport A=b\n", Format.SHELL),
        ("job.env", "", Format.ENV),
    ],
)
def test_the_kind_of_a_file_is_told_by_its_name_or_else_its_content(
    path: str, text: str, expected: Format
) -> None:
    assert detect_format(path, text) is expected


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("topo.xml", "", True),
        ("topo", '<system version="1">', True),
        ("topo", '\ufeff<?xml version="1.0"?>', True),
        ("job.sh", "export A=1", False),
    ],
)
def test_a_topology_is_told_from_an_environment(path: str, text: str, expected: bool) -> None:
    assert is_topology(path, text) is expected


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("export NCCL_DEBUG=WARN", "NCCL_DEBUG", "WARN"),
        ("export NCCL_DEBUG='WARN'  # loud enough", "NCCL_DEBUG", "WARN"),
        ('export NCCL_IB_HCA="mlx5_ib0:1,mlx5_ib1:1"', "NCCL_IB_HCA", "mlx5_ib0:1,mlx5_ib1:1"),
        ("declare -x NCCL_DEBUG=WARN", "NCCL_DEBUG", "WARN"),
        ("    export NCCL_DEBUG=WARN; echo done", "NCCL_DEBUG", "WARN"),
        ("if true; then export NCCL_DEBUG=WARN; fi", "NCCL_DEBUG", "WARN"),
        ("NCCL_DEBUG=WARN torchrun train.py", "NCCL_DEBUG", "WARN"),
        ("env NCCL_DEBUG=WARN torchrun train.py", "NCCL_DEBUG", "WARN"),
        ("mpirun -np 16 -x NCCL_DEBUG=WARN ./all_reduce_perf", "NCCL_DEBUG", "WARN"),
        ("docker run --rm -e NCCL_DEBUG=WARN image", "NCCL_DEBUG", "WARN"),
        ("docker run --env=NCCL_DEBUG=WARN image", "NCCL_DEBUG", "WARN"),
        ("srun --export=ALL,NCCL_DEBUG=WARN ./train", "NCCL_DEBUG", "WARN"),
        ("srun --export=\"ALL,'NCCL_IB_HCA=a,b'\" ./train", "NCCL_IB_HCA", "a,b"),
        ("export NCCL_DEBUG=${NCCL_DEBUG:-WARN}", "NCCL_DEBUG", "WARN"),
        (': "${NCCL_DEBUG:=WARN}"', "NCCL_DEBUG", "WARN"),
        ("export NCCL_DEBUG=$LEVEL", "NCCL_DEBUG", None),
        ("export NCCL_DEBUG=$(level)", "NCCL_DEBUG", None),
        ("export NCCL_DEBUG=WARN FI_PROVIDER=efa", "NCCL_DEBUG", "WARN"),
        ("echo NCCL_DEBUG=WARN >> /etc/nccl.conf", "NCCL_DEBUG", "WARN"),
        ("echo 'NCCL_DEBUG=WARN' | sudo tee -a /etc/nccl.conf", "NCCL_DEBUG", "WARN"),
        ("export NCCL_DEBUG_FILE=/tmp/a\\ b", "NCCL_DEBUG_FILE", "/tmp/a b"),
    ],
)
def test_a_shell_script_sets_a_variable_in_many_ways(line: str, name: str, value: str | None) -> None:
    assert assignments("job.sh", f"#!/bin/bash\n{line}\n")[0] == (2, name, value)


@pytest.mark.parametrize(
    "line",
    [
        "# export NCCL_DEBUG=INFO",
        "echo NCCL_DEBUG=INFO",
        "echo 'set NCCL_DEBUG=INFO to see more'",
        'if [ "$NCCL_DEBUG" = INFO ]; then',
        "unset NCCL_DEBUG",
        "grep NCCL_DEBUG=INFO log.txt",
        "export PATH=/usr/bin",
    ],
)
def test_a_line_that_sets_nothing_of_ours_is_left_alone(line: str) -> None:
    assert assignments("job.sh", f"{line}\n") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "mpirun -np 16 \\\n  -x NCCL_DEBUG=WARN \\\n  -x FI_PROVIDER=efa \\\n  ./all_reduce_perf\n",
            [(2, "NCCL_DEBUG", "WARN"), (3, "FI_PROVIDER", "efa")],
        ),
        (
            "true\nexport NCCL_DEBUG=WARN \\\n  FI_PROVIDER=efa \\\n  NCCL_CROSS_NIC=2\n",
            [(2, "NCCL_DEBUG", "WARN"), (3, "FI_PROVIDER", "efa"), (4, "NCCL_CROSS_NIC", "2")],
        ),
        (
            "export \\\n  NCCL_DEBUG=WARN\nexport FI_PROVIDER=efa\n",
            [(2, "NCCL_DEBUG", "WARN"), (3, "FI_PROVIDER", "efa")],
        ),
        ("docker run \\\r\n  -e NCCL_DEBUG=WARN \\\r\n  image\r\n", [(2, "NCCL_DEBUG", "WARN")]),
        ("srun \\\n  --export=ALL,NCCL_DEBUG=WARN \\\n  ./a\n", [(2, "NCCL_DEBUG", "WARN")]),
        (
            "ssh host \\\n  'export NCCL_DEBUG=WARN; ./a' \\\n  && NCCL_CROSS_NIC=2 ./b\n",
            [(3, "NCCL_CROSS_NIC", "2"), (2, "NCCL_DEBUG", "WARN")],
        ),
    ],
)
def test_a_continued_command_is_one_statement_and_each_variable_has_its_own_line(
    text: str, expected: list[tuple[int, str, str | None]]
) -> None:
    assert assignments("job.sh", text) == expected


def test_a_plain_assignment_is_not_exported_unless_something_exports_it() -> None:
    def exported(text: str) -> list[bool]:
        return [entry.exported for entry in read_source("job.sh", text).assignments]

    assert exported("NCCL_DEBUG=WARN\n") == [False]
    assert exported("NCCL_DEBUG=WARN\nexport NCCL_DEBUG\n") == [True]
    assert exported("set -a\nNCCL_DEBUG=WARN\n") == [True]
    assert exported("NCCL_DEBUG=WARN ./train\n") == [True]


def test_a_here_document_is_read_as_what_it_is_written_to() -> None:
    text = (
        "cat > /etc/nccl.conf <<EOF\n"
        "NCCL_DEBUG=WARN\n"
        "EOF\n"
        "cat <<'END'\n"
        "export NCCL_DEBUG=INFO\n"
        "END\n"
        "tee /opt/run.sh <<-X\n"
        "\texport NCCL_IB_SL=1\n"
        "\tX\n"
        "export NCCL_CROSS_NIC=2\n"
    )
    assert assignments("setup.sh", text) == [
        (2, "NCCL_DEBUG", "WARN"),
        (8, "NCCL_IB_SL", "1"),
        (10, "NCCL_CROSS_NIC", "2"),
    ]


def test_a_slurm_directive_is_read_with_commas_in_quotes() -> None:
    text = "#!/bin/bash\n#SBATCH --export=\"ALL,NCCL_DEBUG=WARN,'NCCL_SOCKET_IFNAME=^docker,lo'\"\n"
    assert assignments("job.sbatch", text) == [
        (2, "NCCL_DEBUG", "WARN"),
        (2, "NCCL_SOCKET_IFNAME", "^docker,lo"),
    ]


def test_a_dockerfile_gives_each_variable_the_line_that_it_stands_on() -> None:
    text = (
        "FROM image\n"
        "ENV NCCL_DEBUG=WARN\n"
        "ENV NCCL_IB_HCA=mlx5_ib \\\n"
        "    # a comment between\n"
        '    FI_PROVIDER="efa"\n'
        "ENV NCCL_CROSS_NIC 2\n"
        "ENV NCCL_TOPO_FILE=$HOME/topo.xml\n"
        "RUN echo NCCL_ALGO=Ring\n"
    )
    assert assignments("Dockerfile", text) == [
        (2, "NCCL_DEBUG", "WARN"),
        (3, "NCCL_IB_HCA", "mlx5_ib"),
        (5, "FI_PROVIDER", "efa"),
        (6, "NCCL_CROSS_NIC", "2"),
        (7, "NCCL_TOPO_FILE", None),
    ]


def test_kubernetes_yaml_gives_env_lists_config_maps_compose_files_and_scripts_with_their_lines() -> None:
    text = """\
apiVersion: v1
kind: Pod
spec:
  containers:
  - name: train
    env:
    - name: NCCL_DEBUG
      value: "WARN"
    - {name: FI_PROVIDER, value: efa}
    - name: NCCL_TOPO_FILE
      valueFrom: {configMapKeyRef: {name: x, key: y}}
    command:
    - /bin/bash
    - -c
    - |
      set -e
      export NCCL_IB_SL=1
---
kind: ConfigMap
data:
  NCCL_CROSS_NIC: "1"
  nccl.conf: |
    NCCL_ALGO=Ring
---
services:
  train:
    environment:
    - NCCL_PROTO=Simple
"""
    assert assignments("job.yaml", text) == [
        (7, "NCCL_DEBUG", "WARN"),
        (9, "FI_PROVIDER", "efa"),
        (17, "NCCL_IB_SL", "1"),
        (21, "NCCL_CROSS_NIC", "1"),
        (23, "NCCL_ALGO", "Ring"),
        (28, "NCCL_PROTO", "Simple"),
    ]


def test_yaml_that_does_not_parse_is_a_finding_with_its_line() -> None:
    source = read_source("job.yaml", "a: [1,\nb: }\n")
    (misreading,) = source.misreadings
    assert misreading.code == "env-unreadable"
    assert misreading.line == 2
    assert "does not parse" in misreading.what


def test_a_template_of_yaml_must_be_rendered_first() -> None:
    (misreading,) = read_source("values.yaml", "env: {{ .Values.env }}\n- x\n").misreadings
    assert misreading.remedy.startswith("Render the template first (helm template)")


def test_a_file_of_another_program_is_not_held_to_nccls_grammar() -> None:
    text = "NodeName = n1  # a node\nNCCL_DEBUG = WARN\njust words\n"
    assert [entry.line for entry in read_source("site.conf", text).misreadings] == [2]
    assert [entry.line for entry in read_source("nccl.conf", text).misreadings] == [1, 1, 2, 3]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("bash -c 'export NCCL_DEBUG=WARN; ./train'", ["WARN"]),
        ('/bin/bash -lc "export NCCL_DEBUG=WARN && ./train"', ["WARN"]),
        ("sudo sh -c 'NCCL_DEBUG=WARN ./train'", ["WARN"]),
        ("srun bash -c 'NCCL_DEBUG=WARN ./train'", ["WARN"]),
        ("ssh host 'NCCL_DEBUG=WARN ./train'", ["WARN"]),
        ("ssh -p 22 host NCCL_DEBUG=WARN ./train", ["WARN"]),
        ("pdsh -w n[1-4] 'export NCCL_DEBUG=WARN; ./train'", ["WARN"]),
        ("eval 'export NCCL_DEBUG=WARN'", ["WARN"]),
        ("bash -c \"ssh host 'NCCL_DEBUG=WARN ./train'\"", ["WARN"]),
        ('bash -c "export NCCL_DEBUG=$LEVEL"', [None]),
        ('ssh host "NCCL_DEBUG=\\"WARN\\" ./train"', ["WARN"]),
        ("bash -c './train'", []),
        ("bash run.sh 'NCCL_DEBUG=WARN'", []),
        ("grep -c 'export NCCL_DEBUG=WARN' log", []),
        ("echo 'ssh host NCCL_DEBUG=WARN'", []),
    ],
)
def test_a_script_in_an_argument_is_read_like_a_script(line: str, expected: list[str | None]) -> None:
    assert [value for _, _, value in assignments("job.sh", f"#!/bin/bash\n{line}\n")] == expected
    assert all(number == 2 for number, _, _ in assignments("job.sh", f"#!/bin/bash\n{line}\n"))


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        ('args: ["bash", "-c", "export NCCL_DEBUG=WARN; ./train"]', [(1, "WARN")]),
        ("command:\n- /bin/sh\n- -lc\n- 'NCCL_DEBUG=WARN ./train'", [(4, "WARN")]),
        ("command: bash -c 'export NCCL_DEBUG=WARN'", [(1, "WARN")]),
        ("args:\n- -c\n- >\n  export NCCL_DEBUG=WARN;\n  ./train", [(3, "WARN")]),
        ("args:\n- -c\n- |\n  set -e\n  export NCCL_DEBUG=WARN", [(5, "WARN")]),
        ("script:\n- make\n- NCCL_DEBUG=WARN ./train", [(3, "WARN")]),
        ("command: [mpirun, -x, NCCL_DEBUG=WARN, ./train]", [(1, "WARN")]),
        ("description: set NCCL_DEBUG=WARN to hear more", []),
        ('args: ["-c", "config.json"]', []),
    ],
)
def test_a_command_in_yaml_is_read_like_a_script(yaml: str, expected: list[tuple[int, str]]) -> None:
    assert [(line, value) for line, _, value in assignments("job.yaml", f"{yaml}\n")] == expected


def misread(path: str, text: str) -> list[tuple[str, int, str | None]]:
    return [(entry.code, entry.line, entry.mended) for entry in read_source(path, text).misreadings]


@pytest.mark.parametrize(
    ("line", "mended"),
    [
        ("export NCCL_DEBUG = WARN", "export NCCL_DEBUG=WARN"),
        ("  export NCCL_DEBUG =WARN", "  export NCCL_DEBUG=WARN"),
        ("export NCCL_DEBUG= WARN", "export NCCL_DEBUG=WARN"),
        ("NCCL_DEBUG = WARN", "export NCCL_DEBUG=WARN"),
        ("export NCCL_DEBUG = 'WARN'", "export NCCL_DEBUG='WARN'"),
        ("setenv NCCL_DEBUG WARN", "export NCCL_DEBUG=WARN"),
        ("export NCCL_DEBUG = WARN; ./train", None),
        ("export NCCL_DEBUG = WARN loud", None),
    ],
)
def test_a_line_that_sets_nothing_in_this_shell_is_said(line: str, mended: str | None) -> None:
    assert misread("job.sh", f"#!/bin/bash\n{line}\n") == [("env-shell-syntax", 2, mended)]


@pytest.mark.parametrize(
    "line",
    [
        "export NCCL_DEBUG= NCCL_ALGO=",
        "NCCL_DEBUG= ./train",
        "export NCCL_DEBUG=",
        '[ "$NCCL_DEBUG" = WARN ]',
        "export NCCL_DEBUG NCCL_ALGO",
        "setenv PATH /bin",
        "export A = b",
    ],
)
def test_a_line_that_the_shell_takes_is_not_complained_of(line: str) -> None:
    assert misread("job.sh", f"{line}\n") == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("job.csh", "setenv NCCL_DEBUG WARN\n"),
        ("job", "#!/bin/tcsh\nsetenv NCCL_DEBUG WARN\n"),
        ("nccl", "#%Module1.0\nsetenv NCCL_DEBUG WARN\n"),
    ],
)
def test_setenv_sets_where_it_is_a_command(path: str, text: str) -> None:
    assert [value for _, _, value in assignments(path, text)] == ["WARN"]
    assert misread(path, text) == []


@pytest.mark.parametrize("path", ["nccl.conf", "job.sh", "job.sbatch", "site.conf"])
def test_a_byte_order_mark_hides_the_first_line_and_can_be_taken_out(path: str) -> None:
    text = "NCCL_DEBUG=WARN\nNCCL_CROSS_NIC=2\n"
    source = read_source(path, f"\ufeff{text}")
    assert [(entry.line, entry.name) for entry in source.assignments] == [
        (1, "NCCL_DEBUG"),
        (2, "NCCL_CROSS_NIC"),
    ]
    assert [(entry.code, entry.line) for entry in source.misreadings] == [("env-byte-order-mark", 1)]


@pytest.mark.parametrize("path", ["job.yaml", "Dockerfile", "job.env"])
def test_a_byte_order_mark_is_left_alone_where_the_reader_takes_it_off(path: str) -> None:
    assert read_source(path, "\ufeffA: b\n").misreadings == ()


def test_cr_lf_in_a_script_is_said_once_and_in_yaml_not_at_all() -> None:
    text = "true\nexport NCCL_DEBUG=WARN\r\nexport NCCL_CROSS_NIC=2\r\n"
    assert misread("job.sh", text) == [("env-shell-line-end", 2, None)]
    assert misread("job.yaml", "a: b\r\n") == []


def test_the_output_of_env_is_taken_at_its_word() -> None:
    text = "HOME=/root\nNCCL_DEBUG=WARN\nNCCL_IB_HCA='mlx5'\nUCX_TLS=rc\n"
    assert assignments("printed", text) == [
        (2, "NCCL_DEBUG", "WARN"),
        (3, "NCCL_IB_HCA", "'mlx5'"),
        (4, "UCX_TLS", "rc"),
    ]


@pytest.mark.parametrize(
    ("line", "code", "says", "mended"),
    [
        (
            "export NCCL_DEBUG=WARN",
            "env-conf-export",
            "`export` becomes part of the variable's name",
            "NCCL_DEBUG=WARN",
        ),
        (
            'NCCL_DEBUG="WARN"',
            "env-conf-quotes",
            "NCCL keeps the quotes as part of the value",
            "NCCL_DEBUG=WARN",
        ),
        ("NCCL_DEBUG = WARN", "env-conf-spaces", "NCCL trims nothing", "NCCL_DEBUG=WARN"),
        ("NCCL_DEBUG=WARN ", "env-conf-spaces", "NCCL trims nothing", "NCCL_DEBUG=WARN"),
        (
            "NCCL_DEBUG=WARN # loud",
            "env-conf-comment",
            "NCCL keeps '# loud' as part of the value",
            "NCCL_DEBUG=WARN",
        ),
        ("  # NCCL_DEBUG=INFO", "env-conf-comment", "A comment begins in column 0 only", "# NCCL_DEBUG=INFO"),
        ("NCCL_DEBUG=WARN\r", "env-conf-line-end", "NCCL up to 2.29.7 keeps the CR", "NCCL_DEBUG=WARN"),
        ("NCCL_DEBUG", "env-conf-no-value", "NCCL skips the line 'NCCL_DEBUG'", None),
        (
            "NCCL_TOPO_FILE=/" + "a" * 1023,
            "env-conf-too-long",
            "has 1024 characters; NCCL cuts it at 1023",
            None,
        ),
    ],
)
def test_nccls_own_grammar_is_kept_to_the_letter(line: str, code: str, says: str, mended: str | None) -> None:
    misreadings = read_source("nccl.conf", f"# ours\n{line}\n").misreadings
    assert [(entry.code, entry.line) for entry in misreadings] == [(code, 2)]
    assert says in misreadings[0].what
    if mended is not None:
        assert misreadings[0].mended == mended


@pytest.mark.parametrize(
    "line",
    [
        "NCCL_DEBUG=WARN",
        "NCCL_SOCKET_IFNAME==eth0",
        "# any 'text' = here",
        "",
        "NCCL_TOPO_FILE=/" + "a" * 1022,
    ],
)
def test_a_line_in_nccls_grammar_is_not_complained_of(line: str) -> None:
    assert read_source("nccl.conf", f"{line}\n").misreadings == ()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("train.py", "import os\nos.environ['NCCL_ALGO'] = 'Ring'\n"),
        ("notes.md", "NCCL_ALGO=Ring\n"),
        ("main.tf", "NCCL_ALGO = 1\n"),
        ("train", "#!/usr/bin/env python3\nNCCL_ALGO = 'Ring'\n"),
    ],
)
def test_a_file_of_another_kind_is_an_error_and_not_a_clean_file(path: str, text: str) -> None:
    (finding,) = lint({path: text})
    assert (finding.code, finding.level.value) == ("env-unreadable", "error")
    assert "no kind of file that lint reads" in finding.what


def test_a_manifest_in_json_is_read() -> None:
    text = '{"spec": {"containers": [{"env": [\n{"name": "NCCL_DEBUG", "value": "WARN"}]}]}}\n'
    assert assignments("pod.json", text) == [(2, "NCCL_DEBUG", "WARN")]


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ('CMD ["bash", "-c", "export NCCL_DEBUG=WARN; ./train"]', [(2, "WARN")]),
        ("CMD NCCL_DEBUG=WARN ./train", [(2, "WARN")]),
        ('ENTRYPOINT ["env", "NCCL_DEBUG=WARN", "./train"]', [(2, "WARN")]),
        ("ENTRYPOINT mpirun \\\n  -x NCCL_DEBUG=WARN ./train", [(3, "WARN")]),
        ("RUN make && \\\n  echo NCCL_DEBUG=WARN >> /etc/nccl.conf", [(3, "WARN")]),
        ("RUN echo 'NCCL_DEBUG=WARN' | tee -a /etc/nccl.conf", [(2, "WARN")]),
        ("RUN NCCL_DEBUG=WARN ./selftest", []),
        ("RUN export NCCL_DEBUG=WARN", []),
        ('CMD ["./train"]', []),
        ('CMD ["bash", "-c", "unclosed', []),
    ],
)
def test_in_a_dockerfile_what_lasts_of_a_command_is_read(
    instruction: str, expected: list[tuple[int, str]]
) -> None:
    found = assignments("Dockerfile", f"FROM image\n{instruction}\nUSER nobody\n")
    assert [(line, value) for line, _, value in found] == expected
