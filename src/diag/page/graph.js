// SPDX-License-Identifier: Apache-2.0
// The page of a recorded graph. All text of the data goes into the page as text (textContent), never as markup.
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const {nodes, sections} = data;
  const tree = document.getElementById('tree');
  const details = document.getElementById('details');
  const search = document.getElementById('search');
  const found = document.getElementById('found');
  const kLane = 16, kMostLanes = 320, kLeft = 26, kTurn = 26;
  const kKinds = ['kernel', 'copy', 'fill', 'event', 'child', 'conditional'];

  // ---- Facts ------------------------------------------------------------------------------------------------------
  const sectionOf = [];
  sections.forEach((section, s) => section.nodes.forEach((node) => { sectionOf[node] = s; }));
  const after = nodes.map(() => []);
  nodes.forEach((node, i) => node.dependencies.forEach((from) => after[from].push(i)));
  const isTimed = nodes.some((node) => 'microseconds' in node);
  // A call takes only so many arguments, and graphs have any number of nodes.
  const longest = nodes.reduce((most, node) => Math.max(most, node.microseconds ?? 0), 0);
  const separator = ' / ';

  // What could be taken for something else is spelt out.
  const shown = (text) => text.replace(
      /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
      (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
  const sectionName = (section) => shown(section.label) || 'unnamed';
  const inSection = (label) => {
    const end = label.indexOf(separator);
    return end < 0 ? '' : label.slice(end + separator.length);
  };
  const nodeName = (node) => shown(inSection(node.label) || node.label || node.function || node.kind);
  const kindClass = (kind) => (kKinds.includes(kind) ? kind : 'other');
  const functionBesideLabel = (node) => (node.label.endsWith(node.function) ? '' : shown(node.function));
  const withoutNamespaces = (name) => {
    const parameters = name.indexOf('<') < 0 ? name.length : name.indexOf('<');
    const last = name.lastIndexOf('::', parameters);
    return last < 0 ? name : name.slice(last + 2);
  };
  const bytesText = (bytes) => {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    while (bytes >= 1024 && unit + 1 < units.length) { bytes /= 1024; ++unit; }
    return (unit === 0 ? bytes : bytes.toFixed(1)) + ' ' + units[unit];
  };
  const timeText = (us) => us.toFixed(1) + ' µs';
  const sides = ([x, y, z]) => (z !== 1 ? `(${x}, ${y}, ${z})` : y !== 1 ? `(${x}, ${y})` : `${x}`);
  const launchText = (launch) => `${sides(launch.grid)} × ${sides(launch.block)}`;
  const plural = (n, one) => `${n} ${one}${n === 1 ? '' : 's'}`;

  function contentText(which) {
    const kinds = new Map();
    let bytes = 0, us = 0, timed = false;
    for (const i of which) {
      kinds.set(nodes[i].kind, (kinds.get(nodes[i].kind) ?? 0) + 1);
      bytes += nodes[i].bytes;
      if ('microseconds' in nodes[i]) { us += nodes[i].microseconds; timed = true; }
    }
    const alike = kinds.size === 1;
    const parts = alike ? [] : [...kinds].sort().map(([kind, count]) => `${count} ${kind}`);
    if (bytes > 0) parts.push(bytesText(bytes) + ' moved');
    if (timed) parts.push(timeText(us) + (which.length > 1 ? ' in sum' : ''));
    if (alike) return [plural(which.length, `${[...kinds.keys()][0]} node`), ...parts].join(', ');
    return `${plural(which.length, 'node')}: ${parts.join(', ')}`;
  }

  // ---- What is open, chosen, searched for ---------------------------------------------------------------------------
  // Keys: "r3" a run of equal sections, "s7" a section, "n12" a node.
  const open = new Set();
  let current = '';
  let matches = [];
  const runs = data.runs.map((run, r) => ({...run, key: 'r' + r}));
  const runOf = [];
  runs.forEach((run, r) => { for (let s = run.first; s < run.first + run.count; ++s) runOf[s] = r; });
  const isGroup = (run) => run.count > 1;

  function openAtFirst() {
    const budget = 60;  // rows that one still looks through
    let rows = 0;
    for (const run of runs) {
      const count = sections[run.first].nodes.length;
      if (isGroup(run) || run.folded || rows + count > budget) continue;
      rows += count;
      open.add('s' + run.first);
    }
  }

  // ---- Rows ---------------------------------------------------------------------------------------------------------
  // {key, level, holds: nodes a dot stands for, or [] where they stand below, and what there is to write}
  function visibleRows() {
    const rows = [];
    for (const run of runs) {
      if (isGroup(run)) {
        const all = [];
        for (let s = run.first; s < run.first + run.count; ++s) sections[s].nodes.forEach((n) => all.push(n));
        const isOpen = open.has(run.key);
        rows.push({key: run.key, level: 1, run, isOpen, all, holds: isOpen ? [] : all});
        if (!isOpen) continue;
      }
      for (let s = run.first; s < run.first + run.count; ++s) {
        const level = isGroup(run) ? 2 : 1;
        const isOpen = open.has('s' + s);
        const own = sections[s].nodes;
        rows.push({key: 's' + s, level, section: s, isOpen, all: own, holds: isOpen ? [] : own});
        if (isOpen) own.forEach((n) => rows.push({key: 'n' + n, level: level + 1, node: n, all: [n], holds: [n]}));
      }
    }
    return rows;
  }

  function withEdges(rows) {
    const rowOf = [];
    const dots = rows.filter((row) => row.holds.length > 0);
    dots.forEach((row, d) => row.holds.forEach((n) => { rowOf[n] = d; }));
    dots.forEach((row, d) => {
      const sources = new Set();
      row.holds.forEach((n) => nodes[n].dependencies.forEach((from) => sources.add(rowOf[from])));
      sources.delete(d);
      row.sources = [...sources].sort((a, b) => a - b);
    });
    return {dots, lanes: assignLanes(dots)};
  }

  // ---- Elements -----------------------------------------------------------------------------------------------------
  function element(name, className, text) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }
  function svgElement(name, attributes) {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  function groupCells(row) {
    const cells = [element('span', 'chevron', row.isOpen ? '▾' : '▸')];
    const first = row.run ? sections[row.run.first] : sections[row.section];
    const name = row.run ? shown(row.run.label) : sectionName(first);
    cells.push(element('span', 'name strong' + (first.label ? '' : ' faint'), name));
    if (first.same_as !== null && first.same_as !== undefined && (row.run || !isGroup(runs[runOf[row.section]]))) {
      cells.push(element('span', 'tag', 'same as ' + sectionName(sections[first.same_as])));
    }
    const hits = row.isOpen ? 0 : row.all.filter((n) => matchSet.has(n)).length;
    if (hits > 0) cells.push(element('span', 'tag hit', `${hits} found`));
    cells.push(element('span', 'content', contentText(row.all)));
    return cells;
  }

  function nodeCells(row) {
    const node = nodes[row.node];
    const name = element('span', 'name', nodeName(node));
    name.title = shown(node.label);
    const beside = functionBesideLabel(node);
    const called = element('span', 'function', beside === nodeName(node) ? '' : withoutNamespaces(beside));
    called.title = beside;
    const cells = [name, called];
    if (columns.launch) cells.push(element('span', 'launch', node.launch ? launchText(node.launch) : ''));
    if (columns.bytes) cells.push(element('span', 'bytes', node.bytes > 0 ? bytesText(node.bytes) : ''));
    if (isTimed) {
      const time = element('span', 'time', 'microseconds' in node ? timeText(node.microseconds) : '');
      const share = longest > 0 ? (node.microseconds ?? 0) / longest : 0;
      time.style.setProperty('--share', share.toFixed(4));
      cells.push(time);
    }
    return cells;
  }
  const columns = {
    launch: nodes.some((node) => node.launch),
    bytes: nodes.some((node) => node.bytes > 0),
  };

  function rowElement(row) {
    const made = element('div', 'row ' + (row.node === undefined ? 'group' : 'leaf') + ` level${row.level}`);
    made.setAttribute('role', 'treeitem');
    made.setAttribute('aria-level', row.level);
    if (row.node === undefined) made.setAttribute('aria-expanded', String(row.isOpen));
    made.setAttribute('aria-selected', String(row.key === current));
    made.tabIndex = row.key === current ? 0 : -1;
    made.dataset.key = row.key;
    if (row.node !== undefined && matchSet.has(row.node)) made.classList.add('match');
    made.append(...(row.node === undefined ? groupCells(row) : nodeCells(row)));
    return made;
  }

  function markElement(kind, x, y) {
    const shape = kindClass(kind);
    if (shape === 'kernel') return svgElement('circle', {class: 'node ' + shape, cx: x, cy: y, r: 5.5});
    if (shape === 'copy' || shape === 'conditional') {
      return svgElement('path', {class: 'node ' + shape, d: `M${x} ${y - 6.5}l6.5 6.5 -6.5 6.5 -6.5 -6.5z`});
    }
    return svgElement('rect', {class: 'node ' + shape, x: x - 5, y: y - 5, width: 10, height: 10, rx: 1.5});
  }

  function drawEdges(rows, made) {
    const {dots, lanes} = withEdges(rows);
    const step = lanes > 1 ? Math.min(kLane, kMostLanes / (lanes - 1)) : 0;
    const width = kLeft + step * Math.max(lanes - 1, 0) + 18;
    tree.style.setProperty('--rail', `${width}px`);
    tree.append(...made);  // now they have places
    rows.forEach((row, i) => { row.y = made[i].offsetTop + made[i].offsetHeight / 2; });
    dots.forEach((row) => { row.x = kLeft + step * row.lane; });
    const picture = svgElement('svg', {class: 'rail reprise', width, height: tree.scrollHeight, 'aria-hidden': 'true'});
    for (const row of dots) {
      for (const source of row.sources) {
        const near = row.holds.some((n) => 'n' + n === current) || dots[source].key === current || row.key === current;
        picture.append(svgElement('path', {class: near ? 'edge near' : 'edge', d: edgePath(dots[source], row, kTurn)}));
      }
    }
    for (const row of dots) picture.append(markElement(nodes[row.holds[0]].kind, row.x, row.y));
    tree.append(picture);
  }

  let order = [];
  function render(focus) {
    const rows = visibleRows();
    order = rows.map((row) => row.key);
    if (!order.includes(current)) current = order[0] ?? '';
    tree.textContent = '';
    drawEdges(rows, rows.map(rowElement));
    if (focus) {
      const row = rowFor(current);
      row?.focus({preventScroll: true});
      row?.scrollIntoView({block: 'nearest'});
    }
  }
  const rowFor = (key) => [...tree.children].find((row) => row.dataset.key === key);

  // ---- Details ------------------------------------------------------------------------------------------------------
  function pair(list, name, value) {
    list.append(element('dt', '', name));
    const right = element('dd');
    right.append(...[value].flat());
    list.append(right);
  }
  function nodeLink(n) {
    const link = element('a', 'link', `${n}  ${shown(nodes[n].label) || nodeName(nodes[n])}`);
    link.href = '#node-' + n;
    return link;
  }
  function linkList(title, which) {
    const made = element('div', 'links');
    made.append(element('h3', '', `${title} (${which.length})`));
    if (which.length === 0) made.append(element('p', 'faint', 'nothing'));
    const list = element('ul');
    for (const n of which.slice(0, 200)) {
      const item = element('li');
      item.append(nodeLink(n));
      list.append(item);
    }
    if (which.length > 200) list.append(element('li', 'faint', `and ${which.length - 200} more`));
    made.append(list);
    return made;
  }

  function nodeDetails(n) {
    const node = nodes[n];
    const badge = element('span', 'badge ' + kindClass(node.kind), node.kind);
    const head = element('h2', '', nodeName(node));
    const list = element('dl');
    pair(list, 'node', `${n}`);
    pair(list, 'label', node.label ? shown(node.label) : element('span', 'faint', 'none'));
    if (node.function) pair(list, 'function', element('code', '', shown(node.function)));
    if (node.bytes > 0) pair(list, 'moves', `${bytesText(node.bytes)} (${node.bytes.toLocaleString('en')} B)`);
    if ('microseconds' in node) pair(list, 'time', timeText(node.microseconds));
    const launch = node.launch;
    if (launch) {
      const product = (a) => a.reduce((x, y) => x * y, 1);
      pair(list, 'grid', `${launch.grid.join(' × ')}  (${plural(product(launch.grid), 'block')})`);
      pair(list, 'block', `${launch.block.join(' × ')}  (${plural(product(launch.block), 'thread')})`);
      if (product(launch.cluster) > 1) pair(list, 'cluster', launch.cluster.join(' × '));
      pair(list, 'shared memory', `${bytesText(launch.dynamic_shared_bytes)} at launch` +
          (launch.static_shared_bytes > 0 ? `, ${bytesText(launch.static_shared_bytes)} static` : ''));
      if (launch.registers > 0) pair(list, 'registers', `${launch.registers} per thread`);
    }
    return [badge, head, list, linkList('Comes after', node.dependencies), linkList('Comes before', after[n])];
  }

  function groupDetails(row) {
    const first = row.run ? sections[row.run.first] : sections[row.section];
    const list = element('dl');
    pair(list, 'holds', contentText(row.all));
    if (first.same_as !== null && first.same_as !== undefined) {
      const original = sections[first.same_as];
      const link = element('a', 'link', sectionName(original));
      link.href = '#section-' + first.same_as;
      pair(list, 'same as', link);
      list.append(element('p', 'note', 'Proven node by node: kinds, functions, labels, bytes, launches and the place ' +
          'each edge comes from are equal.'));
    }
    return [element('span', 'badge', row.run ? plural(row.run.count, 'section') : 'section'),
            element('h2', '', row.run ? shown(row.run.label) : sectionName(first)), list,
            element('p', 'faint', row.isOpen ? 'Enter or click folds it.' : 'Enter or click unfolds it.')];
  }

  function showDetails() {
    details.textContent = '';
    const row = visibleRows().find((one) => one.key === current);
    if (row) details.append(...(row.node === undefined ? groupDetails(row) : nodeDetails(row.node)));
  }

  // ---- Doing --------------------------------------------------------------------------------------------------------
  function choose(key, focus = true) {
    current = key;
    render(focus);
    showDetails();
  }
  function setOpen(key, wanted) {
    if (wanted) open.add(key); else open.delete(key);
    choose(key);
  }
  function reveal(n) {
    const s = sectionOf[n];
    open.add(runs[runOf[s]].key);
    open.add('s' + s);
    choose('n' + n);
    rowFor('n' + n)?.scrollIntoView({block: 'center'});
  }
  const isGroupKey = (key) => key[0] !== 'n';
  function parentOf(key) {
    if (key[0] === 'n') return 's' + sectionOf[Number(key.slice(1))];
    const run = key[0] === 's' ? runs[runOf[Number(key.slice(1))]] : null;
    return run && isGroup(run) ? run.key : '';
  }

  tree.addEventListener('click', (event) => {
    const row = event.target.closest('.row');
    if (!row) return;
    const key = row.dataset.key;
    if (isGroupKey(key)) setOpen(key, !open.has(key)); else choose(key);
  });

  tree.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = order.indexOf(current);
    const last = order.length - 1;
    const actions = {
      ArrowDown: () => choose(order[Math.min(at + 1, last)]),
      ArrowUp: () => choose(order[Math.max(at - 1, 0)]),
      PageDown: () => choose(order[Math.min(at + 15, last)]),
      PageUp: () => choose(order[Math.max(at - 15, 0)]),
      Home: () => choose(order[0]),
      End: () => choose(order[last]),
      ArrowRight: () => {
        if (isGroupKey(current) && !open.has(current)) setOpen(current, true);
        else if (isGroupKey(current)) choose(order[Math.min(at + 1, last)]);
      },
      ArrowLeft: () => {
        if (isGroupKey(current) && open.has(current)) setOpen(current, false);
        else if (parentOf(current)) choose(parentOf(current));
      },
      Enter: () => (isGroupKey(current) ? setOpen(current, !open.has(current)) : choose(current)),
    };
    actions[' '] = actions.Enter;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });

  let matchSet = new Set();
  function find() {
    const wanted = search.value.trim().toLowerCase();
    matches = [];
    if (wanted !== '') {
      sections.forEach((section) => section.nodes.forEach((n) => {
        const node = nodes[n];
        const text = `${node.label}\n${node.function}\n${node.kind}`.toLowerCase();
        if (text.includes(wanted)) matches.push(n);
      }));
    }
    matchSet = new Set(matches);
    found.textContent = wanted === '' ? '' : `${matches.length} of ${plural(nodes.length, 'node')}`;
    render(false);
  }
  function nextMatch(step) {
    if (matches.length === 0) return;
    const at = current[0] === 'n' ? matches.indexOf(Number(current.slice(1))) : -1;
    const next = at < 0 && step < 0 ? matches.length - 1 : (at + step + matches.length) % matches.length;
    reveal(matches[next]);
    search.focus({preventScroll: true});
  }
  search.addEventListener('input', find);
  search.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') { event.preventDefault(); nextMatch(event.shiftKey ? -1 : 1); }
    if (event.key === 'Escape') { search.value = ''; find(); choose(current); }
    if (event.key === 'ArrowDown') { event.preventDefault(); choose(current); }
  });
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target === search) return;
    event.preventDefault();
    search.focus();
    search.select();
  });
  document.getElementById('unfold').addEventListener('click', () => {
    runs.forEach((run) => open.add(run.key));
    sections.forEach((section, s) => open.add('s' + s));
    choose(current, false);
  });
  document.getElementById('fold').addEventListener('click', () => { open.clear(); choose(current, false); });

  function follow() {
    const [, kind, number] = /^#(node|section)-(\d+)$/.exec(location.hash) ?? [];
    const n = Number(number);
    if (kind === 'node' && n < nodes.length) reveal(n);
    if (kind === 'section' && n < sections.length) {
      open.add(runs[runOf[n]].key);
      choose('s' + n);
      rowFor('s' + n)?.scrollIntoView({block: 'center'});
    }
  }
  window.addEventListener('hashchange', follow);
  // The same link twice changes no address, but is meant all the same.
  details.addEventListener('click', (event) => {
    if (event.target.closest('a')?.getAttribute('href') === location.hash) follow();
  });

  openAtFirst();
  render(false);
  if (location.hash) follow(); else showDetails();
})();
