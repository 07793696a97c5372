// The script of every screen: a cursor over charts, keys, details that stay open, word of what has come in.
// It writes no figure: every one it shows came with the page. Without it everything but the cursor and the keys works.
(() => {
  'use strict';
  const SVG = 'http://www.w3.org/2000/svg';
  const PULSE_MS = 5000;
  const find = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];

  // What this browser remembers; a browser that remembers nothing loses nothing else.
  const recall = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
  const remember = (key, value) => { try { localStorage.setItem(key, value); } catch { /* it may not */ } };

  // One region speaks to those who listen, at most once in a while.
  const voice = document.createElement('p');
  voice.className = 'voice';
  voice.setAttribute('role', 'status');
  document.body.append(voice);
  let later = 0;
  const say = (text) => {
    clearTimeout(later);
    later = setTimeout(() => { voice.textContent = text; }, 150);
  };

  const go = (changes) => {
    const url = new URL(location.href);
    for (const [key, value] of Object.entries(changes)) {
      if (value === null) url.searchParams.delete(key); else url.searchParams.set(key, value);
    }
    location.assign(url);
  };

  // ---- A cursor: each point of a chart is a row of the table beside it, and the row is what it shows.
  class Cursor {
    constructor(chart) {
      this.chart = chart;
      this.rows = all('tr', document.getElementById(chart.dataset.rows));
      this.points = chart.dataset.points.split(' ').map((pair) => pair.split(',').map(Number));
      this.at = -1;
      this.from = null;
      const [, , , height] = chart.getAttribute('viewBox').split(' ').map(Number);
      this.line = this.draw('line', { y1: 0, y2: height });
      this.dot = this.draw('circle', { r: 4 });
      this.told = document.createElement('p');
      this.told.className = 'told';
      this.told.setAttribute('aria-hidden', 'true'); // the voice says it
      chart.after(this.told);
      chart.setAttribute('tabindex', '0');
      chart.addEventListener('pointermove', (event) => this.show(this.nearest(event)));
      chart.addEventListener('pointerleave', () => this.hide());
      chart.addEventListener('blur', () => this.hide());
      chart.addEventListener('keydown', (event) => this.key(event));
      this.zooms = Boolean(find('time', this.rows[0])); // a path's stops say when
      if (this.zooms) {
        chart.addEventListener('pointerdown', (event) => { this.from = event.pointerType === 'touch' ? null : this.nearest(event); });
        chart.addEventListener('pointerup', (event) => {
          const [from, to] = [this.from, this.nearest(event)];
          this.from = null;
          if (from !== null && Math.abs(to - from) > 1) this.zoom(Math.min(from, to), Math.max(from, to));
        });
      }
    }

    draw(name, attributes) {
      const shape = document.createElementNS(SVG, name);
      shape.setAttribute('class', 'cursor');
      for (const [key, value] of Object.entries(attributes)) shape.setAttribute(key, value);
      this.chart.append(shape);
      return shape;
    }

    nearest(event) {
      const x = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.chart.getScreenCTM().inverse()).x;
      let [low, high] = [0, this.points.length - 1];
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (this.points[middle][0] <= x) low = middle; else high = middle;
      }
      return x - this.points[low][0] < this.points[high][0] - x ? low : high;
    }

    show(at) {
      this.at = Math.max(0, Math.min(this.points.length - 1, at));
      const [x, y] = this.points[this.at];
      this.line.setAttribute('x1', x);
      this.line.setAttribute('x2', x);
      this.dot.setAttribute('cx', x);
      this.dot.setAttribute('cy', y);
      this.chart.classList.add('read');
      const words = [...this.rows[this.at].cells].map((cell) => cell.textContent.trim()).filter(Boolean).join(', ');
      this.told.textContent = words;
      say(words);
    }

    hide() {
      this.at = -1;
      this.chart.classList.remove('read');
      this.told.textContent = '';
    }

    zoom(from, to) {
      const [start, end] = [from, to].map((at) => find('time', this.rows[at])?.dateTime);
      if (start && end && start !== end) go({ from: start, to: end });
    }

    marked(word, step = 1) {
      const begin = this.at < 0 && step < 0 ? this.rows.length : this.at;
      for (let at = begin + step; at >= 0 && at < this.rows.length; at += step) {
        if (this.rows[at].dataset.mark?.split(' ').includes(word)) return at;
      }
      return this.at < 0 ? 0 : this.at;
    }

    key(event) {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const last = this.points.length - 1;
      const quarter = Math.max(2, this.points.length >> 2);
      const at = this.at < 0 ? last >> 1 : this.at;
      const moves = {
        ArrowLeft: () => this.show(this.at < 0 ? last : this.at - 1),
        ArrowRight: () => this.show(this.at + 1),
        Home: () => this.show(0),
        End: () => this.show(last),
      };
      const letters = {
        0: moves.Home,
        $: moves.End,
        c: () => this.show(this.marked('checkpoint')),
        C: () => this.show(this.marked('checkpoint', -1)),
        b: () => { this.at = -1; this.show(this.marked('best')); },
        '+': () => { if (this.zooms) this.zoom(Math.max(0, at - quarter), Math.min(last, at + quarter)); },
        '-': () => { if (new URL(location.href).searchParams.has('from')) go({ from: null, to: null }); },
      };
      const move = moves[event.key] ?? (keysOff() ? undefined : letters[event.key]);
      const leaves = event.key === 'Escape' && this.at >= 0;
      if (!move && !leaves) return;
      event.preventDefault();
      event.stopPropagation();
      if (leaves) this.hide(); else move();
    }
  }

  // ---- Keys: each stands on the element that it triggers; they can be switched off.
  const keysOff = () => recall('keys') === 'off';
  const sheet = find('#keys');
  const openSheet = () => {
    if (sheet.open) return;
    document.body.classList.add('keyed');
    sheet.showModal();
  };
  const press = (element) => { if (element) element.click(); return Boolean(element); };
  const keyed = (key) => all('[data-key]').find((element) => element.dataset.key === key && element.getClientRects().length);
  const row = () => document.activeElement?.closest('main tr, main .card, main figure') ?? null;
  const led = (from, start) => all('a', from ?? document.createElement('p')).find((a) => a.pathname.startsWith(start));
  const stops = () => {
    const seen = new Set();
    return all('main a').filter((a) => {
      if (a.closest('.crumbs, .forms, .paging, .steps') || !a.getClientRects().length) return false;
      const line = a.closest('tr') ?? a;
      return !seen.has(line) && seen.add(line);
    });
  };
  const step = (by) => {
    const stop = stops();
    if (!stop.length) return;
    const here = stop.findIndex((a) => a === document.activeElement || (row() && a.closest('tr') === row()));
    stop[here < 0 ? (by > 0 ? 0 : stop.length - 1) : Math.max(0, Math.min(stop.length - 1, here + by))].focus();
  };
  const picked = () => { try { return JSON.parse(sessionStorage.getItem('picked')) ?? []; } catch { return []; } };
  const pick = () => {
    const life = led(row(), '/p/');
    if (!life) return;
    const others = picked().filter((path) => path !== life.pathname);
    const isNew = others.length === picked().length;
    try { sessionStorage.setItem('picked', JSON.stringify(isNew ? [...others, life.pathname].slice(-6) : others)); } catch { return; }
    row().classList.toggle('picked', isNew);
    say(isNew ? 'picked' : 'let go');
  };
  const compare = () => {
    const [first, ...others] = picked();
    if (!first) return;
    const url = new URL(first, location.origin);
    for (const path of others) url.searchParams.append('with', decodeURIComponent(path.split('/').pop()));
    try { sessionStorage.removeItem('picked'); } catch { /* it stays */ }
    location.assign(url);
  };
  const copy = () => {
    const command = find('.forms code')?.textContent ?? '';
    navigator.clipboard?.writeText(`${location.href}\n${command}`.trim()).then(() => say('copied'), () => {});
  };
  const leave = () => press(all('.crumbs a').pop() ?? (location.pathname === '/' ? null : find('body > nav a')));
  const acts = {
    j: () => step(1),
    k: () => step(-1),
    ArrowDown: () => (row() ? step(1) : false),
    ArrowUp: () => (row() ? step(-1) : false),
    d: () => {
      const review = led(row(), '/r/');
      if (review) location.assign(review.pathname.replace('/r/', '/diff/'));
      return Boolean(review);
    },
    r: () => press(led(row(), '/p/') ?? led(row(), '/r/')),
    p: () => press(led(row(), '/p/')),
    h: () => press(led(row(), '/rules/')),
    e: () => press(find('.source', document.activeElement?.closest('.facts > div') ?? find('.facts > div:hover') ?? document.createElement('p'))),
    x: pick,
    X: compare,
    y: copy,
    m: () => press(find('a[href^="/-/act?do=seen"]')),
    '.': () => {
      const act = find('a[href^="/-/act?"]');
      act?.focus();
      return Boolean(act);
    },
    '-': () => history.back(),
    '?': openSheet,
  };
  let chord = false;
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.defaultPrevented) return;
    if (sheet?.open) return;
    const writing = event.target.closest('input:not([type=checkbox]), textarea, select, [contenteditable]');
    if (event.key === 'Escape') {
      if (writing) writing.blur(); else leave();
      return;
    }
    if (writing) return;
    if (event.key === 'Enter') {
      if (document.activeElement === document.body) press(keyed('Enter'));
      return;
    }
    if (event.key.length > 1 && !event.key.startsWith('Arrow')) return;
    if (keysOff() && event.key.length === 1) return;
    if (chord) {
      chord = false;
      if (press(all('[data-go]').find((a) => a.dataset.go === event.key))) event.preventDefault();
      return;
    }
    if (event.key === 'g') {
      chord = true;
      setTimeout(() => { chord = false; }, 1500);
      return;
    }
    if (event.key === '/') {
      const search = find('main input[type=search]');
      event.preventDefault();
      if (search) search.focus(); else press(find('[data-go="/"]'));
      return;
    }
    const name = Object.hasOwn(acts, event.key) ? event.key : event.key.toLowerCase();
    const own = Object.hasOwn(acts, name) ? acts[name] : () => false;
    if (own() !== false || press(keyed(event.key) ?? keyed(name))) event.preventDefault();
  });
  if (sheet) {
    all('a[href="#keys"]').forEach((way) => way.addEventListener('click', (event) => { event.preventDefault(); openSheet(); }));
    sheet.addEventListener('close', () => document.body.classList.remove('keyed'));
    find('a[href="#content"]', sheet)?.addEventListener('click', (event) => { event.preventDefault(); sheet.close(); });
    const box = find('input', sheet);
    box.closest('p').hidden = false;
    box.checked = keysOff();
    box.addEventListener('change', () => remember('keys', box.checked ? 'off' : 'on'));
  }

  // ---- What was opened stays open, on every page that has it.
  for (const part of all('details')) {
    const key = `open ${find('summary', part).textContent.trim()}`;
    if (recall(key) === 'yes') part.open = true;
    part.addEventListener('toggle', () => remember(key, part.open ? 'yes' : 'no'));
  }

  all('svg[data-rows]').forEach((chart) => new Cursor(chart));

  // ---- Looking back: the day that the slider stands at.
  const back = find('input[name=as-of]');
  back?.addEventListener('input', () => {
    back.nextElementSibling.textContent = new Date(back.value * 864e5).toISOString().slice(0, 10);
  });

  // ---- A pulse, only while somebody looks: no connection stays open, so that no tab keeps another one waiting.
  const news = find('#news');
  const title = document.title;
  let known = null;
  let timer = 0;
  const isIdle = () => !document.activeElement?.closest('main') && !String(getSelection()) && !sheet?.open;
  const listen = async () => {
    clearTimeout(timer);
    if (document.hidden) return;
    let wait = PULSE_MS;
    try {
      const reply = await fetch('/-/pulse', { cache: 'no-store', signal: AbortSignal.timeout(PULSE_MS) });
      if (!reply.ok) throw new Error(reply.status);
      const [digest, wanted] = (await reply.text()).split('\n');
      document.title = wanted ? `${wanted} ${title}` : title;
      if (known !== null && digest !== known) {
        if (find('main[data-live]') && isIdle()) location.reload();
        else news.hidden = false;
      }
      known ??= digest;
    } catch {
      wait = 6 * PULSE_MS; // it will be back, or it will not
    }
    clearTimeout(timer);
    timer = setTimeout(listen, wait);
  };
  if (news) {
    document.addEventListener('visibilitychange', listen);
    listen();
  }
})();
