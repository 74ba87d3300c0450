// ---- Timeline ----

// In the order of drawing: what went wrong comes last, so that nothing hides it.
const ENDS = ['answered', 'open', 'fault', 'refused', 'failed'];
const LEGEND = { answered: 'in flight, then answered', refused: 'refused (HTTP 429)', fault: 'fault', failed: 'failed', open: 'no answer in the log', wait: 'waiting to retry', pause: 'pause: nothing sent' };
const ROW_HEIGHTS = { thin: 4, normal: 20 };
const LABELLED = 9;

// Documents without a request in the log (answered by an earlier run, say) have nothing to draw.
const drawable = data.documents.filter(([, , tries]) => tries.length).sort((a, b) => a[2][0][0] - b[2][0][0]);
const requests = drawable.flatMap(([, , tries]) => tries);
const filtered = {
  all: drawable,
  refused: drawable.filter(([, , tries]) => tries.some(([, , end]) => end === 'refused')),
  failed: drawable.filter(([, outcome]) => outcome === 'failed'),
};
// In a long run a few rows are but a dot on the axis of the whole run, so there the axis follows the rows.
const view = { filter: 'all', rows: 'fit', time: drawable.length > 500 ? 'rows' : 'run', current: -1 };
let layout;

function layOutTimeline() {
  const scroller = find('scroller');
  const documents = filtered[view.filter];
  const room = parseFloat(getComputedStyle(scroller).maxHeight) - AXIS - 1;
  const rowHeight = ROW_HEIGHTS[view.rows] ?? Math.min(ROW_HEIGHTS.normal, room / documents.length);
  const plotHeight = Math.max(40, Math.min(room, documents.length * rowHeight));
  find('rows').style.height = `${AXIS + Math.max(plotHeight, documents.length * rowHeight)}px`;
  scroller.style.height = `${AXIS + plotHeight + 1}px`;
  const scrolled = scroller.scrollTop;
  const first = Math.floor(scrolled / rowHeight);
  const shown = documents.slice(first, Math.ceil((scrolled + plotHeight) / rowHeight));
  const scale = timeScale(...timeInView(shown), scroller.clientWidth);
  return { documents, shown, first, rowHeight, scale, top: (row) => AXIS + row * rowHeight - scrolled, height: AXIS + plotHeight };
}

function timeInView(shown) {
  if (view.time === 'run' || view.rows === 'fit' || !shown.length) return [0, data.span_ms];
  const from = shown.reduce((least, [, , tries]) => Math.min(least, tries[0][0]), Infinity);
  const to = shown.reduce((most, [, , tries]) => Math.max(most, tries[tries.length - 1][1]), 0);
  const margin = 5 + (to - from) * 0.02;
  return [Math.max(0, from - margin), to + margin];
}

function drawTimeline() {
  layout = layOutTimeline();
  const { shown, scale, height } = layout;
  const pen = openPen(find('timeline-canvas'), scale.right + 1, height);
  drawPauses(pen, scale, AXIS, height);
  drawTimeAxis(pen, scale, AXIS - 6, height, AXIS / 2 - 2);
  drawLine(pen, scale.left, AXIS - 0.5, scale.right, AXIS - 0.5, 'hairline');
  if (!shown.length) drawText(pen, 'No document to show.', scale.left + 12, AXIS + 20, 'left');
  // Rows scrolled half out of view must not cover the axis.
  pen.beginPath();
  pen.rect(0, AXIS, scale.right + 1, height);
  pen.clip();
  drawRowLabels(pen);
  drawRetryWaits(pen);
  for (const end of ENDS) drawTries(pen, end);
}

function drawRowLabels(pen) {
  const { shown, first, rowHeight, scale, top } = layout;
  const named = rowHeight >= LABELLED;
  const step = named ? 1 : countStep(40 / rowHeight);
  if (named) pen.font = `${Math.min(12, Math.floor(rowHeight))}px ${FONT}`;
  for (let row = Math.ceil(first / step) * step; row < first + shown.length; row += step) {
    const text = named ? shortened(pen, shown[row - first][0], scale.left - 16) : row ? number(row) : '';
    drawText(pen, text, scale.left - 10, top(row) + (named ? rowHeight / 2 : 0), 'right');
  }
}

// Identifiers differ mostly at their ends, so the beginning goes.
function shortened(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let kept = text.slice(-40);
  while (kept && pen.measureText(`…${kept}`).width > width) kept = kept.slice(1);
  return `…${kept}`;
}

function drawRetryWaits(pen) {
  const { shown, first, rowHeight, scale, top } = layout;
  pen.fillStyle = colour('wait');
  shown.forEach(([, , tries], index) => {
    const y = Math.round(top(first + index) + rowHeight / 2 - 0.5);
    for (let next = 1; next < tries.length; next += 1) {
      const left = scale.x(tries[next - 1][1]);
      pen.fillRect(left, y, scale.x(tries[next][0]) - left, 1);
    }
  });
}

function drawTries(pen, wanted) {
  const { shown, first, rowHeight, scale, top } = layout;
  const crowded = rowHeight < 1;
  pen.fillStyle = pen.strokeStyle = colour(wanted);
  // Where many rows share a pixel, one exception among them only tints it.
  pen.globalAlpha = wanted === 'answered' ? 1 : Math.min(1, Math.max(0.3, 2 * rowHeight));
  let drawn = [];
  shown.forEach(([, , tries], index) => {
    const y = crowded ? Math.round(top(first + index) * 2) / 2 : top(first + index);
    for (const [sent, ended, end] of tries) {
      if (end !== wanted) continue;
      const left = Math.round(scale.x(sent) * 2) / 2;
      const width = Math.round((scale.x(ended) - scale.x(sent)) * 2) / 2;
      const repeated = crowded && end === 'answered' && drawn[0] === left && drawn[1] === width && drawn[2] === y;
      if (!repeated) drawTry(pen, end, left, width, y, rowHeight);
      drawn = [left, width, y];
    }
  });
}

// Each end has a shape beside its colour, where the row is high enough for one.
function drawTry(pen, end, left, exactWidth, top, rowHeight) {
  const shaped = rowHeight >= 7;
  const width = Math.max(exactWidth, end === 'answered' || rowHeight < 0.5 ? 1.5 : 2.5);
  const inset = rowHeight * (shaped && end !== 'refused' ? 0.22 : rowHeight > 2 ? 0.1 : 0);
  const height = Math.max(1, rowHeight - 2 * inset);
  pen.lineWidth = 1.5;
  if (shaped && end === 'open') pen.strokeRect(left + 0.75, top + inset + 0.75, Math.max(width - 1.5, 1), height - 1.5);
  else pen.fillRect(left, top + inset, width, height);
  if (shaped && end === 'fault') pen.fillRect(left + width - 2, top + 0.5, 2, rowHeight - 1);
  if (shaped && end === 'failed') drawText(pen, '✕', left + width + 2, top + rowHeight / 2, 'left', 'failed');
}

function documentNear(x, y) {
  const { documents, rowHeight, scale, top } = layout;
  const rowAt = (at) => Math.max(0, Math.floor((at - top(0)) / rowHeight));
  const reach = rowHeight < ROW_HEIGHTS.thin ? 2 : 0;
  const distance = ([, , tries]) => Math.min(...tries.map(([sent, ended]) => Math.max(scale.x(sent) - x, x - scale.x(ended), 0)));
  const [nearest] = documents.slice(rowAt(y - reach), rowAt(y + reach) + 1)
    .map((found) => ({ found, away: distance(found) })).sort((a, b) => a.away - b.away);
  // A high row stands for its document anywhere, a low one only close to a mark.
  return nearest && (rowHeight >= LABELLED || nearest.away < 8) ? nearest.found : null;
}

function timelineTip(x, y) {
  const { scale, rowHeight } = layout;
  if (y < AXIS || (x < scale.left && rowHeight < LABELLED)) return [];
  const found = documentNear(x, y);
  const time = scale.time(x);
  const pause = x >= scale.left && data.pauses.find(([from, to]) => from <= time && time <= to);
  const pauseLine = pause ? [`Nothing sent from ${duration(pause[0])} to ${duration(pause[1])}: ${pause[2]}`] : [];
  return found ? [...documentLines(found), ...pauseLine] : pauseLine;
}

function documentLines([id, outcome, tries]) {
  const lines = tries.slice(0, 6).map(([sent, ended, end], index) =>
    `Try ${index + 1}: sent at ${duration(sent)}, ${end === 'open' ? LEGEND.open : `${end} after ${duration(ended - sent)}`}`);
  const rest = tries.length - lines.length;
  return [`${id}: ${outcome}`, ...lines, ...(rest ? [`… and ${number(rest)} more`] : [])];
}

function stepThroughRows(event) {
  const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const { documents, rowHeight } = layout;
  if (!move || !documents.length) return;
  event.preventDefault();
  const scroller = find('scroller');
  view.current = Math.max(0, Math.min(documents.length - 1, view.current + move));
  const at = view.current * rowHeight;
  scroller.scrollTop = Math.max(at + rowHeight + AXIS + 1 - scroller.clientHeight, Math.min(scroller.scrollTop, at));
  drawTimeline();
  const box = scroller.getBoundingClientRect();
  const [, , [[sent]]] = documents[view.current];
  showTip(documentLines(documents[view.current]), box.left + layout.scale.x(sent), box.top + layout.top(view.current));
}

function addChoices(name, title, choices) {
  const buttons = Object.entries(choices).map(([value, text]) => element('button', text, { type: 'button', value }));
  const mark = () => buttons.forEach((button) => button.setAttribute('aria-pressed', button.value === view[name]));
  const choose = (event) => {
    Object.assign(view, { [name]: event.target.value, current: -1 });
    if (name !== 'time') find('scroller').scrollTop = 0;
    mark();
    drawTimeline();
  };
  buttons.forEach((button) => button.addEventListener('click', choose));
  mark();
  const group = element('div', '', { role: 'group', ariaLabel: title, className: 'choices' }, ...buttons);
  find('tools').append(element('div', '', {}, element('span', title, { className: 'name' }), group));
}

function drawLegend() {
  const used = new Set(requests.map(([, , end]) => end));
  if (requests.length > drawable.length) used.add('wait');
  if (data.pauses.length) used.add('pause');
  const names = Object.keys(LEGEND).filter((name) => used.has(name));
  find('legend').replaceChildren(...names.map((name) => element('li', '', {}, legendMark(name), LEGEND[name])));
}

function legendMark(name) {
  const canvas = element('canvas', '');
  const pen = openPen(canvas, 22, 14);
  pen.fillStyle = pen.strokeStyle = colour(name);
  if (name === 'wait') pen.fillRect(0, 7, 22, 1);
  else if (name === 'pause') pen.fillRect(0, 0, 22, 14);
  else drawTry(pen, name, name === 'refused' ? 9 : 2, { refused: 3, failed: 8 }[name] ?? 18, 0, 14);
  return canvas;
}

function timelineSummary() {
  const left = data.documents.length - drawable.length;
  return [
    `${counted(requests.length, 'request')} for ${counted(drawable.length, 'document')} in ${duration(data.span_ms)}, in the order of first sending.`,
    `${number(filtered.refused.length)} refused at least once, ${number(filtered.failed.length)} failed.`,
    data.pauses.length && `${counted(data.pauses.length, 'pause')}, ${duration(total(data.pauses, ([from, to]) => to - from))} in all.`,
    left && `${counted(left, 'document')} without a request in the log: not drawn.`,
  ].filter(Boolean).join(' ');
}

