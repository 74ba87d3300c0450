// ---- Requests per window ----

const windowLength = data.limit?.window_ms ?? 60000;
const rolling = rollingCounts(requests.map(([sent]) => sent).sort((a, b) => a - b));
const peak = rolling.reduce((best, step) => (step[1] > best[1] ? step : best), [0, 0]);
let windowScale;

// Steps of [time, count]: a request counts from its sending until it is one window old.
function rollingCounts(sent) {
  const steps = [];
  for (let oldest = 0, newest = 0; oldest < sent.length;) {
    const expires = sent[oldest] + windowLength;
    if (newest === sent.length || expires <= sent[newest]) steps.push([expires, newest - ++oldest]);
    else steps.push([sent[newest], ++newest - oldest]);
  }
  return steps;
}

// One count per pixel, the highest, so that no peak is lost however long the run.
function highestPerPixel({ x, left, right }) {
  const highest = new Uint32Array(Math.floor(right - left) + 1);
  rolling.forEach(([time, count], index) => {
    const until = Math.min(rolling[index + 1]?.[0] ?? data.span_ms, data.span_ms);
    for (let pixel = Math.floor(x(time) - left); pixel <= x(until) - left; pixel += 1) highest[pixel] = Math.max(highest[pixel], count);
  });
  return highest;
}

function drawWindow() {
  const amount = data.limit?.amount;
  const { pen, scale, y, top, bottom } = openChart('window-canvas', 0, data.span_ms, Math.max(peak[1], amount ?? 0) * 1.15, Infinity, amount);
  windowScale = scale;
  drawPauses(pen, scale, top, bottom);
  pen.beginPath();
  pen.moveTo(scale.left, y(0));
  highestPerPixel(scale).forEach((count, pixel, counts) => {
    pen.lineTo(scale.left + pixel, y(counts[pixel - 1] ?? 0));
    pen.lineTo(scale.left + pixel, y(count));
  });
  pen.strokeStyle = colour('line');
  pen.lineWidth = 1.5;
  pen.stroke();
  if (!data.limit) return;
  pen.setLineDash([6, 4]);
  drawLine(pen, scale.left, y(amount), scale.right, y(amount), 'ink');
  drawText(pen, `limit ${number(amount)}`, scale.left - 10, y(amount), 'right', 'ink');
}

function windowTip(x) {
  if (x < windowScale.left) return [];
  const time = windowScale.time(x);
  const count = rolling.findLast(([at]) => at <= time)?.[1] ?? 0;
  return [counted(count, 'request'), `sent in the ${duration(windowLength)} before ${duration(time)}`];
}

function windowSummary() {
  const highest = `Requests sent in the last ${duration(windowLength)}, refused ones included, over the run. The highest count was ${number(peak[1])}, at ${duration(peak[0])}`;
  return data.limit ? `${highest}; the limit is ${data.limit.words}.` : `${highest}. The limit is not known, so no limit line is drawn.`;
}

// ---- Waits ----

const waits = [...data.waits_ms].sort((a, b) => a - b);
const [shortest, longest] = [waits[0], waits[waits.length - 1]];

function binWaits(most) {
  const step = TIME_STEPS.find((size) => size >= 100 && (longest - shortest) / size < most - 1) ?? (longest - shortest) / (most - 1);
  const from = Math.floor(shortest / step) * step;
  const counts = new Array(Math.floor((longest - from) / step) + 1).fill(0);
  for (const wait of waits) counts[Math.floor((wait - from) / step)] += 1;
  return { from, step, counts };
}

function drawWaits() {
  const { from, step, counts } = binWaits(root.clientWidth < 640 ? 8 : 20);
  const { pen, scale, y, bottom } = openChart('waits-canvas', from, from + step * counts.length, Math.max(...counts) * 1.2, 760);
  counts.forEach((count, index) => {
    if (!count) return;
    const left = Math.round(scale.x(from + index * step)) + 1;
    const right = Math.round(scale.x(from + (index + 1) * step));
    pen.fillStyle = colour('refused');
    pen.fillRect(left, y(count), right - left, bottom - y(count));
    drawText(pen, number(count), (left + right) / 2, y(count) - 9, 'center', 'ink');
  });
}

function waitsSummary() {
  if (!waits.length) return 'No request was refused.';
  const median = waits[Math.floor((waits.length - 1) / 2)];
  return `${counted(waits.length, 'refusal')} by the wait that followed: ${duration(shortest)} at least, ${duration(median)} at the median, ${duration(longest)} at most.`;
}

