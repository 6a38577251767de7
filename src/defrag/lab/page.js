"use strict";
// Tables are sorted by a click on a heading; without this script they stand in their own order.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const original = [...body.rows];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      // Ascending, then descending, then the original order.
      const next = { ascending: "descending", descending: "" }[head.getAttribute("aria-sort") || "x"];
      const order = next === undefined ? "ascending" : next;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      if (order) head.setAttribute("aria-sort", order);
      const value = (row) => {
        const cell = row.cells[column];
        if (!cell || cell.classList.contains("note")) return null;
        if (column === 0) return cell.textContent;
        return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
      };
      const sign = order === "descending" ? -1 : 1;
      const rows = [...original];
      if (order) {
        rows.sort((a, b) => {
          const [x, y] = [value(a), value(b)];
          if (x === null || y === null) return (x === null) - (y === null);
          return sign * (typeof x === "string" ? x.localeCompare(y) : x - y);
        });
      }
      body.append(...rows);
    });
  });
}
