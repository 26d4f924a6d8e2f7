// SPDX-License-Identifier: Apache-2.0
'use strict';

// As diag/graph_rows.cpp: a row keeps its lane until the last row that comes after it, which may take it over.
// rows[i].sources: rows above that i comes after. Sets rows[i].lane; returns how many lanes there are.
function assignLanes(rows) {
  const lastUse = rows.map((row, i) => i);
  rows.forEach((row, i) => row.sources.forEach((source) => { lastUse[source] = i; }));
  const free = [];
  let lanes = 0;
  rows.forEach((row, i) => {
    for (const source of row.sources) {
      if (lastUse[source] === i) free.push(rows[source].lane);
    }
    if (free.length === 0) free.push(lanes++);
    let least = 0;
    for (let k = 1; k < free.length; ++k) if (free[k] < free[least]) least = k;
    row.lane = free.splice(least, 1)[0];
    if (lastUse[i] === i) free.push(row.lane);
  });
  return lanes;
}

// What the edges from one row draw: down the lane of the source, then across to where the row is.
function edgePath(from, to, turn) {
  if (from.x === to.x) return `M${from.x} ${from.y}V${to.y}`;
  const bend = Math.max(to.y - turn, from.y);
  const middle = (bend + to.y) / 2;
  return `M${from.x} ${from.y}V${bend}C${from.x} ${middle} ${to.x} ${middle} ${to.x} ${to.y}`;
}
