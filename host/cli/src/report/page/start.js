// ---- Headline and failures ----

const MOST_FAILURES = 100;

function fillHeader() {
  document.title = `${data.title}: becalm report`;
  find('title').textContent = data.title;
  find('subtitle').textContent = [
    counted(data.documents.length, 'document'),
    data.started && `started ${data.started}`,
    data.span_ms && `took ${duration(data.span_ms)}`,
    data.limit ? `limit ${data.limit.words}` : 'limit not known',
  ].filter(Boolean).join(' · ');
  find('figures').append(...data.figures.map(([name, value]) => element('div', '', {}, element('dt', name), element('dd', value))));
}

function fillFailures() {
  const failed = total(data.failures, ([, , count]) => count);
  const cut = data.failures.length > MOST_FAILURES ? ` The first ${MOST_FAILURES} of ${counted(data.failures.length, 'message')} are listed.` : '';
  find('failures-summary').textContent = failed ? `${counted(failed, 'document')} without an answer.${cut}` : 'No document failed.';
  if (!failed) return;
  const head = element('tr', '', {}, ...['Reason', 'Message', 'Count'].map((title) => element('th', title, { scope: 'col' })));
  const rows = data.failures.slice(0, MOST_FAILURES).map(failureRow);
  find('failures').append(element('table', '', {}, element('thead', '', {}, head), element('tbody', '', {}, ...rows)));
}

function failureRow([reason, message, count, ids]) {
  const more = count > ids.length ? ` and ${number(count - ids.length)} more` : '';
  return element('tr', '', {}, element('td', reason), element('td', message, {}, element('small', ids.join(', ') + more)), element('td', number(count)));
}

// ---- Start ----

const hasEvents = data.span_ms > 0 && drawable.length > 0;

function drawAll() {
  if (hasEvents) {
    drawLegend();
    drawTimeline();
    drawWindow();
  }
  if (waits.length) drawWaits();
}

function startTimeline() {
  addChoices('filter', 'Show', { all: 'all', refused: 'refused at least once', failed: 'failed' });
  addChoices('rows', 'Rows', { fit: 'fit', thin: 'thin', normal: 'normal' });
  addChoices('time', 'Time', { run: 'whole run', rows: 'rows in view' });
  find('timeline-summary').textContent = timelineSummary();
  find('window-summary').textContent = windowSummary();
  find('scroller').addEventListener('scroll', () => requestAnimationFrame(drawTimeline));
  find('scroller').addEventListener('keydown', stepThroughRows);
  find('scroller').addEventListener('blur', hideTip);
  tipOn(find('timeline-canvas'), timelineTip);
  tipOn(find('window-canvas'), windowTip);
}

function watchPage() {
  window.addEventListener('resize', () => requestAnimationFrame(drawAll));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
  for (const [name, printing] of [['beforeprint', true], ['afterprint', false]]) {
    window.addEventListener(name, () => {
      root.classList.toggle('paper', printing);
      drawAll();
    });
  }
  // Captured, so that a key which shows a new tooltip does so after the old one is gone.
  for (const name of ['pointerdown', 'wheel', 'keydown']) document.addEventListener(name, hideTip, { capture: true, passive: true });
}

fillHeader();
fillFailures();
find('waits-summary').textContent = waitsSummary();
find('no-events').hidden = hasEvents;
find('timeline').hidden = find('window').hidden = !hasEvents;
find('waits').hidden = !hasEvents && !waits.length;
find('waits-canvas').hidden = !waits.length;
if (hasEvents) startTimeline();
drawAll();
watchPage();
