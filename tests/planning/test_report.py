"""The fabric report: complete, short enough, honest about bases, and escaped."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from gpu_fabric.nccl.environment import environment
from gpu_fabric.nccl.findings import Finding, Level
from gpu_fabric.nccl.hardware import load_sizes
from gpu_fabric.planning.accuracy import accuracy_toml
from gpu_fabric.planning.errors import PlanningError
from gpu_fabric.planning.price import Bill, LineItem, Unknown
from gpu_fabric.planning.report import AddressRow, FabricReport, report
from gpu_fabric.planning.report.cost_section import cost_quantities
from gpu_fabric.planning.report.document import Bullets, Document, Paragraph, Section, table
from gpu_fabric.planning.report.html import to_html
from gpu_fabric.planning.report.markdown import LIMIT, to_markdown
from gpu_fabric.planning.report.quantities import Basis, Quantity, accuracy, number, size_words
from gpu_fabric.planning.report.svg import (
    Bar,
    Box,
    Series,
    clouds_picture,
    line_chart,
    nice_steps,
    stacked_bars,
)
from gpu_fabric.planning.spec import MOST_NODES, FabricSpec, fabric_spec
from gpu_fabric.planning.tables import read_toml

TITLES = [
    "Summary",
    "Picture",
    "Step time",
    "Collectives",
    "Cost",
    "Findings",
    "NICs and rails",
    "Path MTU",
    "Address plan",
    "NCCL settings in force",
    "What is measured, what is estimated",
]
FINDING = Finding(
    "env-removed",
    Level.ERROR,
    "/etc/nccl.conf",
    3,
    "NCCL_IB_CUDA_SUPPORT does nothing | since 2.4",
    "delete it",
    "NCCL",
)


def _spec(nodes: int = 4, mbps: int = 10000, partner: str = "equinix", **training) -> FabricSpec:
    data = {
        "aws": {"instanceType": "p5.48xlarge", "nodes": nodes, "zone": "us-east-1a"},
        "azure": {"vmSize": "Standard_ND96isr_H100_v5", "nodes": nodes},
        "interconnect": {"bandwidthMbps": mbps, "partner": partner},
        "training": {"model": "llama-3-70b", **training},
    }
    return fabric_spec(data, azure_location="eastus", name="dev")


@pytest.fixture(scope="module")
def made() -> FabricReport:
    addresses = [AddressRow("aws", "vpc", "10.100.0.0/16", "nodes", "4 of 251")]
    return report(_spec(), addresses=addresses, findings=[FINDING], simulated=True)


def test_the_report_has_every_section_in_order(made):
    assert [section.title for section in made.document.sections] == TITLES
    headings = re.findall(r"^## (.*)$", made.markdown(), re.MULTILINE)
    assert headings == TITLES


def test_the_markdown_of_two_clouds_fits_a_comment(made):
    text = made.markdown()
    assert len(text) < LIMIT
    assert "Left out" not in text
    assert text.count("```mermaid") == 4
    assert "Previewed against simulated clouds." in text


def test_the_report_renders_the_same_text_every_time(made):
    again = report(
        _spec(),
        addresses=[AddressRow("aws", "vpc", "10.100.0.0/16", "nodes", "4 of 251")],
        findings=[FINDING],
        simulated=True,
    )
    assert again.markdown() == made.markdown()
    assert again.html() == made.html()
    assert again.json() == made.json()


def test_every_number_of_the_summary_has_a_unit_and_a_basis(made):
    summary = json.loads(made.json())["summary"]
    assert len(summary) >= 12
    for name, entry in summary.items():
        assert entry["unit"], name
        assert entry["basis"] in {basis.value for basis in Basis}, name
        assert entry["source"], name
        assert (entry["value"] is None) == (entry["basis"] == "unknown")


def test_predictions_state_their_range(made):
    summary = json.loads(made.json())["summary"]
    low, high = summary["step time"]["range"]
    assert low < summary["step time"]["value"] < high
    assert summary["all-reduce busbw at 1 GiB, 4 x p5.48xlarge"]["range"][1] <= 400


def test_every_table_names_basis_or_source_or_unit_of_its_numbers(made):
    for section in made.document.sections:
        for block in section.blocks:
            if not hasattr(block, "columns"):
                continue
            words = {"basis", "source", "where", "do"} & set(block.columns)
            with_unit = all(
                re.search(r"[A-Za-z%]", row[block.columns.index(name)]) or name in {"rail", "stage", "layers", "nodes"}
                or "rows" in name or row[block.columns.index(name)] == "-" or "Gb/s" in name
                for name in block.numeric
                for row in block.rows
            )  # fmt: skip
            assert words or with_unit, (section.title, block.columns)


def test_unknown_prices_are_named_and_in_no_sum(made):
    text = made.markdown()
    assert "Not priced, and in no sum: " in text
    assert "equinix connections" in text
    assert "unknown prices are not in it" in text
    assert "equinix connections" in made.headline()["unknownPrices"]


def test_a_node_without_a_price_makes_the_sums_unknown_and_never_small():
    spec = fabric_spec(
        {
            "aws": {"instanceType": "p5e.48xlarge", "nodes": 2, "zone": "us-east-1a"},
            "training": {"model": "llama-3-8b", "globalBatch": 128},
        }
    )
    made = report(spec)
    summary = json.loads(made.json())["summary"]
    assert summary["an hour of training"]["value"] is None
    assert "no on demand price of p5e.48xlarge" in summary["an hour of training"]["source"]
    assert summary["a step"]["value"] is None
    assert "usdPerHour" not in made.headline()
    assert "| an hour of training | unknown |" in made.markdown()


def test_an_hour_with_the_nodes_off_is_unknown_where_nothing_of_it_has_a_price():
    elsewhere = {"aws": {"instanceType": "p5e.48xlarge", "nodes": 2, "zone": "ap-south-1a"}}
    made = report(fabric_spec({**elsewhere, "training": {"model": "llama-3-8b", "globalBatch": 128}}))
    summary = json.loads(made.json())["summary"]
    assert summary["an hour with the nodes off"]["value"] is None
    assert (
        summary["an hour with the nodes off"]["source"] == "nothing that stays on the bill has a known price"
    )
    assert "at least 0.00" not in made.markdown()
    assert "usdPerHourIdle" not in made.headline()


def test_nothing_that_stays_on_the_bill_costs_nothing():
    bill = Bill((), None, None)
    (idle,) = (q for q in cost_quantities(bill) if q.name == "an hour with the nodes off")
    assert idle.value == 0


@pytest.mark.parametrize(
    ("count", "words"), [(1, "1 unknown price is not in it"), (2, "2 unknown prices are not in it")]
)
def test_unknown_prices_are_counted_in_words(count, words):
    unknown = LineItem("a thing", 1, Unknown("thing", "a", "not published"), standing=False)
    assert words in cost_quantities(Bill((unknown,) * count, None, None))[0].source


# A size whose network has no known rate cannot be planned; all others can, whatever is asked of them.
SIZES = sorted(
    name for name, size in load_sizes().items() if size.fabric_gbps or size.ip_gbps or size.ethernet_gbps
)


@st.composite
def stacks(draw: st.DrawFn) -> dict[str, Any]:
    clouds = draw(st.sampled_from([("aws",), ("azure",), ("aws", "azure")]))
    data: dict[str, Any] = {}
    for cloud in clouds:
        sizes = [name for name in SIZES if load_sizes()[name].cloud.value == cloud]
        data[cloud] = {
            ("instanceType" if cloud == "aws" else "vmSize"): draw(st.sampled_from(sizes)),
            "nodes": draw(st.sampled_from([1, 2, 3, 7, 64, 1000, MOST_NODES])),
            "network": draw(
                st.sampled_from([{}, {"internet": "endpoints"}, {"subnetId": "x"}, {"bastion": True}])
            ),
        }
    if len(clouds) == 2 and draw(st.booleans()):
        data["interconnect"] = {
            "bandwidthMbps": draw(st.sampled_from([50, 1000, 10_000_000])),
            "rttMs": draw(st.sampled_from([0.001, 5, 60_000])),
            "loss": draw(st.sampled_from([0, 0.5, 0.999])),
            "redundancy": draw(st.sampled_from(["none", "circuit"])),
            "partner": draw(st.sampled_from(["equinix", "native"])),
        }
    heads = draw(st.sampled_from([1, 3, 8]))
    own = {
        "layers": draw(st.sampled_from([1, 5, 4096])),
        "hidden": heads * draw(st.sampled_from([1, 64, 4096])),
        "ffn": draw(st.sampled_from([1, 4096])),
        "heads": heads,
        "kvHeads": 1,
        "vocab": draw(st.sampled_from([1, 1 << 24])),
        "source": "drawn",
    }
    data["training"] = {
        "model": draw(st.sampled_from(["llama-3-8b", "mixtral-8x22b", own])),
        "sequence": draw(st.sampled_from([1, 7, 8192, 1 << 27])),
        "globalBatch": draw(st.sampled_from([1, 7, 512, 1_000_003, 1 << 24])),
        "precision": draw(st.sampled_from(["bf16", "fp8"])),
    }
    return data


@given(stacks())
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_stack_that_can_be_read_has_a_report_in_every_format(data):
    made = report(fabric_spec(data))
    json.loads(made.json(), parse_constant=lambda name: pytest.fail(f"{name} in the JSON"))
    assert made.markdown().startswith("# Fabric report")
    ElementTree.fromstring(made.document.figures()[0].svg)
    assert made.html().startswith("<!doctype html>")


def test_a_size_without_a_known_network_is_a_planning_error_that_says_what_to_use():
    with pytest.raises(
        PlanningError, match=r"Standard_ND96is_H100_v5: no rate .* Use Standard_ND96isr_H100_v5"
    ):
        report(fabric_spec({"azure": {"vmSize": "Standard_ND96is_H100_v5", "nodes": 2}}))


def test_a_variable_that_cannot_be_set_is_a_problem_at_its_key():
    data = {"aws": {"instanceType": "p5.48xlarge", "nodes": 2, "nccl": {"environment": {"NCCL ALGO": "x"}}}}
    with pytest.raises(PlanningError) as error:
        report(fabric_spec(data))
    assert error.value.problems[0].startswith("fabric.aws.nccl.environment.NCCL ALGO: ")


def test_what_lint_says_of_the_stack_files_variables_stands_in_the_report():
    data = {
        "aws": {
            "instanceType": "p5.48xlarge",
            "nodes": 2,
            "nccl": {"environment": {"NCCL_IB_CUDA_SUPPORT": "1"}},
        }
    }
    made = report(fabric_spec(data))
    assert made.findings
    assert "None." not in made.markdown().split("## Findings")[1].split("##")[0]


def test_sums_without_small_prices_are_called_lower_bounds(made):
    assert "an hour of training, at least" in json.loads(made.json())["summary"]


def test_the_headline_is_plain_values_for_a_programs_outputs(made):
    headline = made.headline()
    assert json.loads(json.dumps(headline)) == headline
    assert headline["stepSeconds"] > 0
    assert 0 < headline["networkShare"] < headline["gpuWaitShare"] < 1
    assert headline["verdict"].startswith("Splitting makes a step")
    assert headline["problems"] == []


def test_a_mixture_of_experts_is_estimated_without_a_range_and_says_why():
    spec = fabric_spec(
        {
            "aws": {"instanceType": "p5.48xlarge", "nodes": 8},
            "training": {"model": "mixtral-8x22b", "globalBatch": 256, "sequence": 4096},
        }
    )
    made = report(spec)
    step = json.loads(made.json())["summary"]["step time"]
    assert step["basis"] == "estimated"
    assert "range" not in step
    assert "take the step time as a lower bound" in made.markdown()


def test_what_does_not_fit_is_a_problem_in_the_report_and_not_an_error():
    made = report(_spec(nodes=1, model="llama-3-405b"))
    assert made.plan is None
    assert len(made.problems) == 3
    assert "does not fit" in made.markdown()
    assert "stepSeconds" not in made.headline()
    assert made.headline()["problems"] == list(made.problems)
    assert "Step time" not in [section.title for section in made.document.sections]


def test_a_verdict_against_splitting_stands_in_the_summary():
    made = report(_spec(mbps=1000))
    assert "Do not split this across clouds" in made.markdown().split("## Picture")[0]
    assert "leaves 4 x " in made.markdown()


def test_findings_of_lint_and_validators_are_shown_with_their_remedy(made):
    text = made.markdown()
    assert "/etc/nccl.conf:3" in text
    assert "does nothing \\| since 2.4" in text, "a bar would end the cell"
    assert "delete it" in text


def test_settings_in_force_are_those_of_the_caller_or_ours(made):
    assert "NCCL_" in made.markdown()
    own = {"p5.48xlarge": environment("p5.48xlarge", overrides={"NCCL_DEBUG": "TRACE"})}
    assert "| NCCL_DEBUG | TRACE |" in report(_spec(), environments=own).markdown()


def test_the_path_between_the_clouds_carries_the_smallest_of_its_hops(made):
    assert "the path carries 1400 bytes" in made.markdown()


def test_one_cloud_alone_has_no_link_in_picture_path_or_bill():
    made = report(
        fabric_spec({"aws": {"instanceType": "p5.48xlarge", "nodes": 2}, "training": {"model": "llama-3-8b"}})
    )
    text = made.markdown()
    assert "ExpressRoute" not in text
    assert "Direct Connect" not in text
    assert "above line rate: over two nodes a tree" in text


def test_the_native_interconnect_is_drawn_with_its_own_hops():
    assert "AWS Interconnect" in report(_spec(partner="native")).markdown()


def test_the_html_is_one_file_that_loads_nothing(made):
    html = made.html()
    assert html.count("<svg") == 4
    assert not re.search(r"(?:src|href)=[\"'](?!#)", html)
    assert "<script" not in html
    assert "`" not in re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)


def test_names_of_users_cannot_break_out_of_html_or_pictures():
    nasty = "<script>alert(1)</script> & \"x\" 'y'"
    document = Document(
        nasty,
        nasty,
        (Section(nasty, (Paragraph(nasty), Bullets((nasty,)), table((nasty,), ((nasty,),), caption=nasty))),),
    )
    assert "<script>" not in to_html(document)
    for svg in (
        clouds_picture(Box(nasty, (nasty,)), Box(nasty, (nasty,)), [nasty], title=nasty),
        stacked_bars([Bar(nasty, ((nasty, 1.0),))], title=nasty, unit=nasty),
        line_chart(
            [Series(nasty, ((1.0, 1.0), (2.0, 2.0)))],
            [(1.0, nasty), (2.0, "b")],
            title=nasty,
            y_label=nasty,
            limits=[(nasty, 1.0)],
        ),
    ):
        root = ElementTree.fromstring(svg)
        assert root.tag.endswith("svg")
        assert "<script>" not in svg


def test_every_picture_is_well_formed_svg_with_a_title_and_stays_on_its_canvas(made):
    for figure in made.document.figures():
        root = ElementTree.fromstring(figure.svg)
        width, height = (float(value) for value in root.attrib["viewBox"].split()[2:])
        assert root.attrib["aria-label"]
        for element in root.iter():
            for name, limit in (
                ("x", width),
                ("x1", width),
                ("x2", width),
                ("cx", width),
                ("y", height),
                ("cy", height),
            ):
                if name in element.attrib:
                    assert -1 <= float(element.attrib[name]) <= limit + 1, (figure.name, element.attrib)


def test_a_markdown_that_would_be_too_long_says_which_sections_it_leaves_out():
    sections = tuple(Section(f"Part {index}", (Paragraph("x" * 400),)) for index in range(5))
    text = to_markdown(Document("t", "s", sections), limit=1500)
    assert len(text) <= 1500
    assert "Left out, the report would be too long here: Part 2, Part 3, Part 4." in text or "Part 4" in text


@pytest.mark.parametrize(
    ("value", "unit", "written"),
    [
        (117.267, "s", "117"),
        (12.34, "s", "12.3"),
        (0.0076, "s", "0.0076"),
        (0.5438, "%", "54.4%"),
        (71534.1, "tokens/s", "71,534"),
        (811.3, "USD/h", "811.30"),
        (592246.4, "USD", "592,246"),
        (0.045, "USD", "0.045"),
        (0, "USD", "0.00"),
        (4, "", "4"),
    ],
)
def test_numbers_are_written_as_a_person_writes_them(value, unit, written):
    assert number(value, unit) == written


def test_an_unknown_quantity_is_written_as_unknown():
    quantity = Quantity("price", None, "USD", Basis.UNKNOWN, "nowhere")
    assert (quantity.written, quantity.range, quantity.as_dict()["value"]) == ("unknown", "", None)


def test_sizes_are_written_in_binary_units():
    assert [size_words(size) for size in (1 << 30, 64 << 20, 1 << 15, 8)] == [
        "1 GiB",
        "64 MiB",
        "32 KiB",
        "8 B",
    ]


@pytest.mark.parametrize(
    ("highest", "steps"), [(400, [0, 100, 200, 300, 400]), (0, [0, 1]), (7.3, [0, 2, 4, 6, 8])]
)
def test_axes_have_round_steps_that_reach_the_highest_value(highest, steps):
    assert nice_steps(highest) == steps


def test_a_table_with_a_row_of_another_width_is_refused():
    with pytest.raises(ValueError, match="a row has 1 cells for 2 columns"):
        table(("a", "b"), (("x",),))


def test_the_accuracy_in_reports_is_what_the_model_reaches_today():
    text = accuracy_toml()
    assert {row["name"] for row in read_toml("accuracy.toml")["accuracy"]} == set(
        re.findall(r'name = "(.*)"', text)
    )
    for name, kept in accuracy().items():
        block = text.split(f'name = "{name}"')[1]
        for field in ("median", "nine_in_ten", "worst"):
            found = re.search(rf"{field} = ([\d.]+)", block)
            assert found is not None
            now = float(found.group(1))
            assert getattr(kept, field) == pytest.approx(now, abs=0.002), (
                "run benchmarks/planning_fit.py --accuracy"
            )


def test_the_report_reads_as_intended(made, snapshot: SnapshotAssertion):
    assert made.markdown() == snapshot
