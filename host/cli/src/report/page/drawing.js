'use strict';
const find = (id) => document.getElementById(id);
const data = JSON.parse(find('data').textContent);
const root = document.documentElement;

// ---- Words and elements. All text is set as text: identifiers and messages are not to be trusted. ----

const number = (value) => value.toLocaleString('en');
const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? '' : 's'}`;
const total = (list, measure) => list.reduce((sum, item) => sum + measure(item), 0);

function duration(ms, resolution = ms < 1000 ? 1 : ms < 60000 ? 100 : 1000) {
  const rounded = Math.round(ms / resolution) * resolution;
  if (rounded > 0 && rounded < 1000) return `${rounded} ms`;
  const hours = Math.floor(rounded / 3600000);
  const minutes = Math.floor(rounded / 60000) % 60;
  const seconds = (rounded % 60000) / 1000;
  const pad = rounded >= 60000 && seconds < 10 ? '0' : '';
  return [hours && `${hours} h`, minutes && `${minutes} min`, seconds && `${pad}${seconds} s`].filter(Boolean).join(' ').replaceAll(' ', '\u00a0') || '0 s';
}

function element(tag, text, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.textContent = text;
  made.append(...children);
  return made;
}

// ---- What the charts share: canvas, scales, axes, tooltip ----

const FONT = getComputedStyle(document.body).fontFamily;
const AXIS = 28;
const TIME_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500,
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400].map((seconds) => seconds * 1000)];

const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();

// The bitmap has the pixels of the device; everything is drawn in CSS pixels.
function openPen(canvas, width, height) {
  const ratio = window.devicePixelRatio;
  Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  const pen = canvas.getContext('2d');
  pen.scale(ratio, ratio);
  pen.font = `12px ${FONT}`;
  pen.textBaseline = 'middle';
  return pen;
}

function timeScale(from, to, width) {
  const left = root.clientWidth < 640 ? 64 : 104;
  const right = Math.max(width - 1, left + 1);
  const x = (ms) => left + ((ms - from) / (to - from)) * (right - left);
  const time = (at) => from + ((at - left) / (right - left)) * (to - from);
  return { from, to, left, right, x, time };
}

function timeStep(pen, { from, to, left, right }) {
  const room = (step) => (step / (to - from)) * (right - left) - 28;
  const day = TIME_STEPS[TIME_STEPS.length - 1];
  return TIME_STEPS.find((step) => room(step) > pen.measureText(duration(to, step)).width) ?? day * Math.ceil((to - from) / day / 3);
}

function countStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least);
}

function drawLine(pen, x1, y1, x2, y2, name) {
  pen.strokeStyle = colour(name);
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.lineTo(x2, y2);
  pen.stroke();
}

function drawText(pen, text, x, y, align, name = 'muted') {
  pen.fillStyle = colour(name);
  pen.textAlign = align;
  pen.fillText(text, x, y);
}

function drawTimeAxis(pen, scale, top, bottom, textAt) {
  const step = timeStep(pen, scale);
  for (let tick = Math.ceil(scale.from / step) * step; tick <= scale.to; tick += step) {
    const text = duration(tick, step);
    const x = Math.round(scale.x(tick)) + 0.5;
    drawLine(pen, x, top, x, bottom, 'hairline');
    // The last words must not run out of the canvas.
    drawText(pen, text, Math.min(x, scale.right - pen.measureText(text).width / 2), textAt, 'center');
  }
}

function drawPauses(pen, scale, top, bottom) {
  pen.fillStyle = colour('pause');
  for (const [from, to] of data.pauses) {
    const left = Math.max(scale.x(from), scale.left);
    const width = Math.min(scale.x(to), scale.right) - left;
    if (width > 0) pen.fillRect(left, top, width, bottom - top);
  }
}

// A chart of counts over time or durations; `marked` is a count whose own label takes the place of the axis's.
function openChart(id, from, to, highest, widest = Infinity, marked = NaN) {
  const canvas = find(id);
  const width = Math.min(canvas.parentElement.clientWidth, widest);
  const [top, bottom] = [8, 180];
  const pen = openPen(canvas, width, bottom + AXIS);
  const scale = timeScale(from, to, width);
  const y = (count) => bottom - (count / highest) * (bottom - top);
  drawTimeAxis(pen, scale, bottom, bottom + 6, bottom + AXIS - 10);
  const step = countStep((highest * 36) / (bottom - top));
  for (let count = 0; count <= highest; count += step) {
    const at = Math.round(y(count)) + 0.5;
    drawLine(pen, scale.left, at, width, at, 'hairline');
    if (!(Math.abs(y(marked) - at) < 14)) drawText(pen, number(count), scale.left - 10, at, 'right');
  }
  return { pen, scale, y, top, bottom };
}

const hideTip = () => { find('tip').hidden = true; };

function showTip(lines, x, y) {
  const tip = find('tip');
  tip.hidden = lines.length === 0;
  tip.replaceChildren(...lines.map((line) => element('p', line)));
  const left = x + 16 + tip.offsetWidth < root.clientWidth ? x + 16 : x - 16 - tip.offsetWidth;
  const top = Math.min(y + 16, root.clientHeight - tip.offsetHeight - 8);
  tip.style.transform = `translate(${Math.max(8, left)}px, ${Math.max(8, top)}px)`;
}

function tipOn(canvas, linesAt) {
  const show = (event) => {
    const box = canvas.getBoundingClientRect();
    showTip(linesAt(event.clientX - box.left, event.clientY - box.top), event.clientX, event.clientY);
  };
  canvas.addEventListener('pointermove', (event) => event.pointerType === 'mouse' && show(event));
  canvas.addEventListener('click', show);
  canvas.addEventListener('pointerleave', hideTip);
}

