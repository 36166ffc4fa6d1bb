// Charts of the tables behind them. A table of numbers with data-chart="bars" or "lines" becomes a chart before the <details>
// that it lies in, which closes. Its first column is time; every other one is a series whose heading names its colour in data-color.
"use strict";

(() => {
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const read = (table) => {
    const heads = [...table.tHead.rows[0].cells].slice(1);
    const rows = [...table.tBodies[0].rows];
    return {
      times: rows.map((row) => Date.parse(row.cells[0].querySelector("time").dateTime) / 1000),
      labels: rows.map((row) => row.cells[0].textContent.trim()),
      series: heads.map((head, i) => ({
        label: head.textContent.trim(),
        color: head.dataset.color,
        values: rows.map((row) => (row.cells[i + 1].dataset.value === undefined ? null : Number(row.cells[i + 1].dataset.value))),
        texts: rows.map((row) => row.cells[i + 1].textContent.trim()),
      })),
    };
  };

  // short writes a number as an axis can hold it.
  const short = (n) => {
    for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) if (Math.abs(n) >= size) return `${+(n / size).toFixed(1)}${unit}`;
    return String(+n.toFixed(2));
  };
  const seconds = (n) => {
    for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]]) if (n >= size) return `${+(n / size).toFixed(1)} ${unit}`;
    return n === 0 ? "0" : `${Math.round(n * 1000)} ms`;
  };

  // moment writes a time of the axis, in UTC as everywhere: the hour, with the day below it where one begins, or the day alone.
  const moment = (t, hourly, first) => {
    const [day, hour] = new Date(t * 1000).toISOString().split("T");
    if (!hourly) return day.slice(5);
    return first || hour.startsWith("00:00") ? `${hour.slice(0, 5)}\n${day.slice(5)}` : hour.slice(0, 5);
  };

  const draw = (table, place, told) => {
    const data = read(table);
    const kind = table.dataset.chart;
    const step = data.times[1] - data.times[0];
    const columns = data.series.map((s) => s.values);
    const bars = uPlot.paths.bars({ size: [0.8, 48], align: 1 });
    const axis = { stroke: style("--muted"), grid: { stroke: style("--line"), width: 1 }, ticks: { stroke: style("--line"), width: 1 }, font: "13px system-ui, sans-serif" };
    const most = Math.max(0, ...columns.flat());
    return new uPlot({
      width: place.clientWidth,
      height: 220,
      tzDate: (t) => uPlot.tzDate(new Date(t * 1000), "Etc/UTC"),
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: kind === "lines" } },
      scales: {
        x: { time: true, range: () => [data.times[0] - (kind === "lines" ? 0 : step * 0.2), data.times.at(-1) + (kind === "lines" ? 0 : step)] },
        y: { range: () => [0, most > 0 ? most * 1.08 : 1] },
      },
      axes: [{ ...axis, values: (_, ticks) => ticks.map((t, i) => moment(t, step < 86400, i === 0)) }, { ...axis, size: 62, values: (_, ticks) => ticks.map(table.dataset.unit === "seconds" ? seconds : short) }],
      series: [{}, ...data.series.map((s) => ({
        label: s.label,
        stroke: style(s.color),
        width: kind === "lines" ? 2 : 0,
        fill: kind === "lines" ? undefined : style(s.color),
        paths: kind === "lines" ? undefined : bars,
        points: { show: kind === "lines", size: 5, fill: style(s.color) },
      }))],
      hooks: {
        setCursor: [(u) => {
          const i = u.cursor.idx;
          told.textContent = i == null ? "" : `${data.labels[i]}: ${data.series.map((s) => `${s.label} ${s.texts[i]}`).join(", ")}`;
        }],
      },
    }, [data.times, ...columns], place);
  };

  const show = (table) => {
    const details = table.closest("details");
    const place = document.createElement("div");
    const told = document.createElement("p");
    place.className = "plot";
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", `${table.caption.textContent.trim()}: a chart of the table that follows`);
    told.className = "told muted";
    told.setAttribute("aria-hidden", "true");
    details.before(place, told);
    details.open = false;
    let plot = draw(table, place, told);
    const again = () => { plot.destroy(); plot = draw(table, place, told); };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
    let width = place.clientWidth;
    new ResizeObserver(() => {
      if (place.clientWidth !== width) {
        width = place.clientWidth;
        plot.setSize({ width, height: 220 });
      }
    }).observe(place);
  };

  document.querySelectorAll("table[data-chart]").forEach(show);
})();
