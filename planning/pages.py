"""The page docs/planning.md: how the planner predicts, how far off it is, and what it makes of the guide's table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median

from gpu_fabric.planning.collectives.constants import load_constants
from gpu_fabric.planning.collectives.fitting import FITS
from gpu_fabric.planning.collectives.validation import (
    SIZE_CLASSES,
    Comparison,
    compare,
    load_measurements,
    summaries,
)
from gpu_fabric.planning.compute import step_constants
from gpu_fabric.planning.guide import claims
from gpu_fabric.planning.report.document import Table, table
from gpu_fabric.planning.report.markdown import table_lines
from gpu_fabric.planning.report.quantities import size_words
from gpu_fabric.planning.tables import read_csv, read_toml
from gpu_fabric.planning.training_fit import COMMON
from gpu_fabric.planning.training_validation import compare_runs, load_runs, usable
from gpu_fabric.planning.transformer import load_models

MISSED = {"1 GiB and above": 0.25, "32 MiB to 1 GiB": 0.30, "below 32 MiB": math.inf}
"""Errors above which a row must name a reason; below 32 MiB the model promises nothing."""

_INTRODUCTION = """\
# What the planner predicts, and how far off it is

<!-- Written by `python -m gpu_fabric.cli.pages` from planning/. Change that. -->

```console
$ gpu-fabric plan Pulumi.dev.yaml                      # Markdown, for a pull request
$ gpu-fabric plan Pulumi.dev.yaml -o report.html       # one file with pictures
$ gpu-fabric prices --refresh                          # today's list prices, without a login
```

Nothing is measured on your fabric: these are predictions, with the range of nine in ten published rows that no constant
was fitted on. `python benchmarks/planning_fit.py` prints every row; `--refit` fits the constants again.

**Collectives.** A ring passes every chunk over each link once (an all-reduce twice), a tree pays two hops a level,
all-to-all pays one message a rank and sends what leaves the node over the NICs. On EFA the algorithm is the one that
AWS's tuner picks for the size and the number of ranks, which is why all-reduce has two plateaus on p5; elsewhere it is
the fastest by the model. Bandwidths are as nccl-tests defines them. More than two nodes never exceed the line rate; two
nodes may, because a tree then sends each byte once. No constant is fitted on two nodes for that reason.

**Step time.** FLOPs over an achievable share of the GPU's peak, memory-bound kernels by their bytes, communication with
overlap by parallelism, and the pipeline simulated operation by operation, with the bandwidth, latency and loss of the
link between clouds. **Memory** is added up part by part; of the published runs it refuses one, of 2 · 10¹² parameters.

**Layouts.** Tensor, context, expert and data groups stay inside a cloud; only pipeline stages cross the link. The
search bounds every layout that divides and fits from below and simulates the most promising.

**Prices** are list prices without tax and discounts. What has no published price is named and in no sum. A file that
`$GPU_FABRIC_PRICES` names goes before all of them, in `gpu-fabric plan`, in `gpu-fabric prices` and at preview, where a
relative path begins in the project's folder. It is what `gpu-fabric prices --json` prints, with your numbers:

```json
{"prices": [{"item": "expressroute-gateway", "name": "ErGw3AZ", "region": "eastus", "usd": 2.15, "unit": "hour",
             "source": "our contract", "date": "2026-11-01"}]}
```

**The link's bill** is made by one function for preview and plan (`planning/price/link.py`). At preview it is of a month
with the link full both ways, in a plan of a step's own bytes:

| part | item | name | region | purchase |
|---|---|---|---|---|
| a partner's connection to AWS | `direct-connect-port` | Mb/s | `all but Japan`, `Japan` | `hosted` |
| a port of your own (`manual`, `accept: false`) | `direct-connect-port` | Mb/s | the same | `dedicated` |
| what leaves AWS | `direct-connect-egress` | `aws` | the AWS region | |
| … to the site of another region | `direct-connect-egress` | `aws` | `us-east-1 to Dublin` | |
| transit gateway: its two attachments | `transit-gateway-attachment` | `aws` | the AWS region | |
| … what both send to it | `transit-gateway-data` | `aws` | the AWS region | |
| cloud routers | `equinix-router`, `megaport-router` | package, `2500 Mb/s` | any | |
| connections to each cloud | `equinix-connection`, … | Mb/s | any | |
| AWS Interconnect – multicloud | `native-connection` | Mb/s | any | |
| circuit Standard | `expressroute-circuit` | Mb/s | `Zone 1` to `Zone 4` | `metered`, `unlimited` |
| circuit Premium | `expressroute-circuit-premium` | Mb/s | the same | the same |
| circuit Local | `expressroute-local` | Mb/s | the same | |
| what leaves Azure, on a metered circuit | `expressroute-egress` | `azure` | the same | `metered` |
| ExpressRoute gateway (`ErGwScale`: a unit) | `expressroute-gateway` | SKU | the Azure region | |
| its public address | `public-ip` | `azure` | the Azure region | |

The zone is that of the peering location (`planning/data/peering_locations.toml`, from Microsoft's table); of a
location that the table lacks it is the location's own name. Virtual interfaces that a partner made
(`manual.interfaceIds`) are on ports that the partner pays for. A refresh reads circuits, gateways, egress from Azure
and nothing of Direct Connect.
"""


def _percent(value: float) -> str:
    return f"{value:.1%}"


def _written(blocks: Sequence[Table]) -> str:
    return "\n\n".join("\n".join(table_lines(block)) for block in blocks)


def missed(rows: Iterable[Comparison]) -> list[Comparison]:
    """The rows whose error is above the goal of their size."""
    return [row for row in rows if row.error > MISSED[row.measurement.size_class]]


def _models() -> str:
    rows = [
        (name, f"{model.parameters / 1e9:.1f}", f"{model.active_parameters / 1e9:.1f}" if model.moe else "all",
         str(model.layers), str(model.hidden), model.source)
        for name, model in load_models().items()
    ]  # fmt: skip
    columns = ("name", "10^9 parameters", "active", "layers", "hidden", "shape from")
    return _written((table(columns, rows, numeric=columns[1:5]),))


_OWN_MODEL = """\
A model of your own is a table instead of a name; its keys are those of `training.model` in
[stack-file.md](stack-file.md). Every number is checked: whole, positive, and consistent with the others.

```yaml
training:
  model:
    name: ours
    layers: 48
    hidden: 6144
    ffn: 16384
    heads: 48
    kvHeads: 8
    vocab: 65536
    source: our own design
    moe: { experts: 64, topK: 4, ffn: 2048, shared: 1 }   # only for a mixture of experts
```
"""


def _collectives() -> str:
    rows = compare(row for row in load_measurements() if row.part != "excluded")
    by_part = [
        (
            part,
            name,
            [i.error for i in rows if (i.measurement.part, i.measurement.size_class) == (part, name)],
        )
        for part in ("fit", "check", "two-node")
        for name in SIZE_CLASSES
    ]
    totals = [(p, n, str(len(e)), _percent(median(e)), _percent(max(e))) for p, n, e in by_part if e]
    details = [
        (key[0], key[1], key[2], key[3], str(s.rows), _percent(s.median), _percent(s.worst))
        for key, s in summaries(rows).items()
        if key[2] != SIZE_CLASSES[2]
    ]
    numeric = ("rows", "median", "worst")
    misses = [
        (i.measurement.source, i.measurement.collective.value, f"{i.measurement.platform}, {i.measurement.nodes} nodes",
         size_words(i.measurement.size), f"{i.ratio:.2f}", i.measurement.note)
        for i in missed(rows)
    ]  # fmt: skip
    return _written(
        (
            table(("rows used to", "size", "rows", "median", "worst"), totals, numeric=numeric),
            table(("source", "collective", "where", "size", "predicted over published", "why"), misses,
                  caption="Rows that miss the goal (25 % from 1 GiB on, 30 % from 32 MiB on)"),
            table(("collective", "platform", "size", "rows used to", "rows", "median", "worst"), details,
                  caption="By collective, platform and size", numeric=numeric),
        )
    )  # fmt: skip


def _constants() -> str:
    constants = load_constants()
    rows: list[tuple[str, str, str]] = []
    for fit in FITS:
        basis = (constants.transport if fit.table == "transport" else constants.nvlink)[fit.row].basis
        values = ", ".join(f"{name} {value:g}" for name, value in fit.current(constants).items())
        rows.append((fit.row, values, basis))
    steps = step_constants()
    common = [(fit.name, f"{getattr(steps, fit.name):g}", steps.basis) for fit in COMMON]
    shares = [(" ".join(key), f"{f.value:.1%} of peak", f.basis) for key, f in steps.fractions.items()]
    return _written(
        (
            table(("row", "fitted", "basis"), rows, caption="Collectives"),
            table(("constant", "value", "basis"), [*common, *shares], caption="Step time"),
        )
    )


def _steps() -> str:
    runs = compare_runs(usable(load_runs(), "fit", "check"))
    rows = []
    for part in ("fit", "check"):
        for stack in (*sorted({item.run.stack for item in runs}), "all"):
            errors = [i.error for i in runs if i.run.part == part and stack in (i.run.stack, "all")]
            if errors:
                rows.append((stack, part, str(len(errors)), _percent(median(errors)), _percent(max(errors))))
    columns = ("software", "rows used to", "rows", "median", "worst")
    return _written((table(columns, rows, numeric=columns[2:]),))


def _left_out() -> str:
    rows = {(row.source, f"{row.platform}, {row.nodes} nodes", row.note) for row in load_measurements()
            if row.part == "excluded"}  # fmt: skip
    rows |= {(run.source, run.label, run.note) for run in usable(load_runs(), "excluded")}
    rows |= {(row["source"], row["what"], row["reason"]) for row in read_csv("training_unusable.csv")}
    return _written((table(("source", "what", "why"), sorted(rows)),))


def _guide() -> str:
    rows = [(claim.figure, claim.guide, claim.model, claim.verdict.value, claim.why) for claim in claims()]
    return _written((table(("figure", "guide", "model", "verdict", "why"), rows),))


def _sources() -> str:
    return _written((table(("key", "published in"), list(read_toml("sources.toml").items())),))


def page() -> str:
    """The whole page."""
    sections = (
        ("Models", f"{_models()}\n\n{_OWN_MODEL.rstrip()}"),
        ("Bus bandwidth against published rows", _collectives()),
        ("Step time against published runs", _steps()),
        (
            "The guide's benchmark table",
            "Llama 3 70B, 16 bit, ZeRO-3, 4 nodes of 8 H100, in the guide that this library implements.\n\n"
            + _guide(),
        ),
        ("The constants", _constants()),
        ("Published rows that are not used", _left_out()),
        ("Sources", _sources()),
    )
    return _INTRODUCTION + "".join(f"\n## {title}\n\n{text}\n" for title, text in sections)
