package answer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/answer"
)

// A tongue has sentences of one language by what they do with a value. %s is the value.
// In what corrects or confirms, the value comes after another one, or before a check.
type tongue struct {
	lang                                          string
	states, corrects, confirms, withdraws, others []string
}

// tongues were written to see what the table lacks. No sentence is from a set of endings.
var tongues = []tongue{
	{
		"en",
		[]string{"Answer: %s", "The final answer is %s.", "**Result:** %s", "So the value is %s.", "That gives us %s in the end.", "Therefore, we end up with %s.", "Altogether that makes %s.", "Solution: %s", "Our answer, then, is %s.", "In conclusion, it comes out to %s."},
		[]string{"The answer is 7. Wait, that's not right. It's %s.", "7. Oops, I slipped up there: it should be %s.", "I get 7. Hold on, I forgot a step. The correct answer is %s.", "Answer: 7\n\nCorrection: %s", "It's 7 — no, sorry, %s.", "7, or rather %s.", "The result is 7. On second thought, make that %s.", "Answer: 7. Scratch that, the answer is %s."},
		[]string{"%s. Let me double-check: 5 + 5 = 10. Yes, that checks out.", "The answer is %s. Is that right? Yes, it holds up.", "Answer: %s. I considered 7, but I stand by my answer."},
		[]string{"The answer is %s. Actually, please disregard that; I am no longer sure.", "Answer: %s. I take that back, I can't give an answer.", "%s. Hmm, that can't be right, and I don't know what is."},
		[]string{"The answer is not %s.", "Is the answer %s?", "Some people say that the answer is %s.", "If x were even, the answer would be %s.", "It could be %s, but I'm not sure.", "My friend claims it is %s."},
	},
	{
		"de",
		[]string{"Antwort: %s", "Die Antwort lautet %s.", "**Ergebnis:** %s", "Also ist die Lösung %s.", "Damit ergibt sich insgesamt %s.", "Somit erhalten wir %s.", "Endergebnis: %s", "Die gesuchte Lösung ist %s.", "Zusammen macht das %s.", "Das Ergebnis beträgt demnach %s."},
		[]string{"Die Antwort ist 7. Moment, das stimmt nicht. Richtig ist %s.", "7. Ups, da habe ich mich vertan: Es sind %s.", "Ich komme auf 7. Halt, ich habe einen Schritt vergessen. Die richtige Antwort ist %s.", "Antwort: 7\n\nKorrektur: %s", "Es sind 7 – nein, Entschuldigung, %s.", "7, oder besser gesagt %s.", "Das Ergebnis ist 7. Ich muss mich korrigieren: Es ist %s."},
		[]string{"%s. Zur Probe: 5 + 5 = 10. Das passt.", "Die Antwort ist %s. Stimmt das? Ja, es bleibt dabei.", "Antwort: %s. Ich hatte kurz an 7 gedacht, bleibe aber dabei."},
		[]string{"Die Antwort ist %s. Bitte ignoriere das, ich bin mir nicht mehr sicher.", "Antwort: %s. Das nehme ich zurück, ich kann keine Antwort geben.", "%s. Hm, das kann nicht stimmen, und ich weiß es nicht besser."},
		[]string{"Die Antwort ist nicht %s.", "Ist die Antwort %s?", "Manche behaupten, die Antwort sei %s.", "Wenn x gerade wäre, wäre die Antwort %s.", "Es könnte %s sein, aber ich bin unsicher.", "Mein Freund sagt, es sei %s."},
	},
	{
		"fr",
		[]string{"Réponse : %s", "La réponse est %s.", "**Résultat :** %s", "Donc la solution est %s.", "On obtient finalement %s.", "Ainsi, on trouve %s.", "Réponse finale : %s", "La bonne réponse est donc %s.", "Au total, cela fait %s.", "Le résultat vaut donc %s."},
		[]string{"La réponse est 7. Attendez, ce n'est pas exact. C'est %s.", "7. Oups, je me suis trompé : il faut lire %s.", "Je trouve 7. Un instant, j'ai oublié une étape. La bonne réponse est %s.", "Réponse : 7\n\nCorrection : %s", "C'est 7 — non, pardon, %s.", "7, ou plutôt %s.", "Le résultat est 7. Je dois rectifier : c'est %s."},
		[]string{"%s. Vérifions : 5 + 5 = 10. C'est bon.", "La réponse est %s. Est-ce exact ? Oui, je confirme.", "Réponse : %s. J'ai pensé un moment à 7, mais je maintiens ma réponse."},
		[]string{"La réponse est %s. N'en tenez pas compte, je n'en suis plus sûr.", "Réponse : %s. Je retire ce que j'ai dit, je ne sais pas.", "%s. Hum, cela ne peut pas être juste, et je ne sais pas quoi répondre."},
		[]string{"La réponse n'est pas %s.", "La réponse est-elle %s ?", "Certains prétendent que la réponse est %s.", "Si x était pair, la réponse serait %s.", "Ce pourrait être %s, mais je ne suis pas sûr.", "Mon ami affirme que c'est %s."},
	},
	{
		"es",
		[]string{"Respuesta: %s", "La respuesta es %s.", "**Resultado:** %s", "Por lo tanto, la solución es %s.", "Finalmente obtenemos %s.", "Así que nos queda %s.", "Respuesta final: %s", "La respuesta correcta es %s.", "En total son %s.", "El resultado es, por tanto, %s."},
		[]string{"La respuesta es 7. Espera, eso no es correcto. Es %s.", "7. Uy, me equivoqué: debería ser %s.", "Obtengo 7. Un momento, olvidé un paso. La respuesta correcta es %s.", "Respuesta: 7\n\nCorrección: %s", "Son 7… no, perdón, %s.", "7, o mejor dicho, %s.", "El resultado es 7. Tengo que corregirme: es %s."},
		[]string{"%s. Comprobemos: 5 + 5 = 10. Está bien.", "La respuesta es %s. ¿Es correcto? Sí, lo confirmo.", "Respuesta: %s. Pensé en 7, pero mantengo mi respuesta."},
		[]string{"La respuesta es %s. No la tengas en cuenta, ya no estoy seguro.", "Respuesta: %s. Retiro lo dicho, no puedo dar una respuesta.", "%s. Hmm, eso no puede ser correcto y no sé cuál es."},
		[]string{"La respuesta no es %s.", "¿Es %s la respuesta?", "Algunos dicen que la respuesta es %s.", "Si x fuera par, la respuesta sería %s.", "Podría ser %s, pero no estoy seguro.", "Mi amigo afirma que es %s."},
	},
	{
		"pt",
		[]string{"Resposta: %s", "A resposta é %s.", "**Resultado:** %s", "Portanto, a solução é %s.", "Finalmente obtemos %s.", "Assim, ficamos com %s.", "Resposta final: %s", "A resposta correta é %s.", "No total são %s.", "O resultado é, portanto, %s."},
		[]string{"A resposta é 7. Espere, isso não está certo. É %s.", "7. Ops, me enganei: deveria ser %s.", "Obtenho 7. Um momento, esqueci um passo. A resposta correta é %s.", "Resposta: 7\n\nCorreção: %s", "São 7… não, desculpe, %s.", "7, ou melhor, %s.", "O resultado é 7. Preciso me corrigir: é %s."},
		[]string{"%s. Vamos conferir: 5 + 5 = 10. Está certo.", "A resposta é %s. Está correto? Sim, confirmo.", "Resposta: %s. Pensei em 7, mas mantenho minha resposta."},
		[]string{"A resposta é %s. Desconsidere, já não tenho certeza.", "Resposta: %s. Retiro o que disse, não posso dar uma resposta.", "%s. Hmm, isso não pode estar certo e não sei qual é."},
		[]string{"A resposta não é %s.", "A resposta é %s?", "Alguns dizem que a resposta é %s.", "Se x fosse par, a resposta seria %s.", "Poderia ser %s, mas não tenho certeza.", "Meu amigo afirma que é %s."},
	},
	{
		"it",
		[]string{"Risposta: %s", "La risposta è %s.", "**Risultato:** %s", "Quindi la soluzione è %s.", "Alla fine otteniamo %s.", "Pertanto si ottiene %s.", "Risposta finale: %s", "La risposta corretta è %s.", "In totale sono %s.", "Il risultato è dunque %s."},
		[]string{"La risposta è 7. Aspetta, non è corretto. È %s.", "7. Ops, mi sono sbagliato: dovrebbe essere %s.", "Ottengo 7. Un momento, ho dimenticato un passaggio. La risposta corretta è %s.", "Risposta: 7\n\nCorrezione: %s", "Sono 7… no, scusa, %s.", "7, o meglio, %s.", "Il risultato è 7. Devo correggermi: è %s."},
		[]string{"%s. Verifichiamo: 5 + 5 = 10. Tutto torna.", "La risposta è %s. È giusto? Sì, confermo.", "Risposta: %s. Ho pensato a 7, ma confermo la mia risposta."},
		[]string{"La risposta è %s. Non tenetene conto, non ne sono più sicuro.", "Risposta: %s. Ritiro quanto detto, non posso dare una risposta.", "%s. Hmm, non può essere giusto e non so quale sia."},
		[]string{"La risposta non è %s.", "La risposta è %s?", "Alcuni dicono che la risposta è %s.", "Se x fosse pari, la risposta sarebbe %s.", "Potrebbe essere %s, ma non sono sicuro.", "Il mio amico sostiene che è %s."},
	},
	{
		"ru",
		[]string{"Ответ: %s", "Правильный ответ — %s.", "**Результат:** %s", "Следовательно, ответ: %s.", "В итоге получаем %s.", "Таким образом, выходит %s.", "Окончательный ответ: %s", "Решение: %s", "Всего получается %s.", "Итак, ответом будет %s."},
		[]string{"Ответ 7. Подождите, это неверно. Правильно — %s.", "7. Ой, я ошибся: должно быть %s.", "Получается 7. Минуту, я забыл один шаг. Правильный ответ — %s.", "Ответ: 7\n\nИсправление: %s", "Это 7… нет, извините, %s.", "7, точнее, %s.", "Результат — 7. Должен исправиться: это %s."},
		[]string{"%s. Проверим: 5 + 5 = 10. Всё сходится.", "Ответ: %s. Верно ли это? Да, всё верно.", "Ответ: %s. Я думал о 7, но остаюсь при своём ответе."},
		[]string{"Ответ: %s. Не учитывайте это, я уже не уверен.", "Ответ: %s. Беру свои слова обратно, ответить не могу.", "%s. Хм, это не может быть верно, и я не знаю ответа."},
		[]string{"Ответ не %s.", "Ответ — %s?", "Некоторые утверждают, что ответ — %s.", "Если бы x было чётным, ответ был бы %s.", "Возможно, %s, но я не уверен.", "Мой друг говорит, что это %s."},
	},
	{
		"zh",
		[]string{"答案：%s", "答案是%s。", "**结果：**%s", "所以答案为%s。", "因此最终结果是%s。", "综上，得到%s。", "最终答案：%s", "正确答案是%s。", "一共是%s。", "故答案为：%s。"},
		[]string{"答案是7。等等，不对，应该是%s。", "7。哎呀，我算错了：应为%s。", "我得到7。等一下，我漏了一步。正确答案是%s。", "答案：7\n\n更正：%s", "是7……不，抱歉，是%s。", "7，更准确地说，是%s。", "结果是7。我要更正：是%s。"},
		[]string{"%s。验算：5＋5＝10，没有问题。", "答案是%s。对吗？对，确认无误。", "答案：%s。我考虑过7，但维持原答案。"},
		[]string{"答案是%s。请忽略，我已经不确定了。", "答案：%s。我收回，无法给出答案。", "%s。嗯，这不可能对，我也不知道是多少。"},
		[]string{"答案不是%s。", "答案是%s吗？", "有人说答案是%s。", "如果x是偶数，答案就会是%s。", "可能是%s，但我不确定。", "我朋友认为是%s。"},
	},
	{
		"ja",
		[]string{"答え：%s", "答えは%sです。", "**結果：** %s", "したがって、答えは%sになります。", "よって、正解は%sです。", "以上より、%sとなります。", "最終的な答え：%s", "正しい答えは%sです。", "合計で%sです。", "つまり、答えは%sということです。"},
		[]string{"答えは7です。待ってください、違います。正しくは%sです。", "7です。おっと、間違えました。%sです。", "7になります。すみません、一つ忘れていました。正解は%sです。", "答え：7\n\n訂正：%s", "7、いや失礼、%sです。", "7、正しくは%sです。", "結果は7です。訂正します。%sです。"},
		[]string{"%sです。検算：5＋5＝10、問題ありません。", "答えは%sです。本当でしょうか？はい、間違いありません。", "答え：%s。7とも考えましたが、変わりません。"},
		[]string{"答えは%sです。これは無視してください、もう自信がありません。", "答え：%s。撤回します、お答えできません。", "%sです。うーん、これは正しいはずがなく、分かりません。"},
		[]string{"答えは%sではありません。", "答えは%sですか？", "答えは%sだと言う人もいます。", "もしxが偶数なら、答えは%sだったでしょう。", "%sかもしれませんが、自信がありません。", "友人は%sだと主張しています。"},
	},
	{
		"ko",
		[]string{"답: %s", "정답은 %s입니다.", "**결과:** %s", "따라서 답은 %s입니다.", "그러므로 최종 답은 %s이다.", "결국 %s이 됩니다.", "최종 답: %s", "올바른 답은 %s입니다.", "합계는 %s입니다.", "즉, 정답은 %s예요."},
		[]string{"답은 7입니다. 잠깐만요, 틀렸네요. %s입니다.", "7입니다. 아차, 실수했습니다. %s입니다.", "7이 나옵니다. 잠시만요, 한 단계를 빠뜨렸습니다. 정답은 %s입니다.", "답: 7\n\n정정: %s", "7, 아니 죄송합니다, %s입니다.", "7, 정확히는 %s입니다.", "결과는 7입니다. 정정합니다. %s입니다."},
		[]string{"%s입니다. 검산: 5+5=10, 문제없습니다.", "답은 %s입니다. 맞을까요? 네, 맞습니다.", "답: %s. 7도 생각해 봤지만 그대로 유지합니다."},
		[]string{"답은 %s입니다. 무시해 주세요, 이제 확신이 없습니다.", "답: %s. 철회합니다, 답할 수 없습니다.", "%s입니다. 음, 이건 맞을 리 없고 저도 모르겠습니다."},
		[]string{"답은 %s이 아닙니다.", "답은 %s인가요?", "답이 %s라고 말하는 사람도 있습니다.", "만약 x가 짝수라면 답은 %s였을 것입니다.", "%s일지도 모르지만 확실하지 않습니다.", "제 친구는 %s라고 주장합니다."},
	},
}

// tongueValues are values of the tasks, and how they are written. Where a letter is the
// value, the other one is F.
var tongueValues = []struct{ task, gold, written string }{
	{"number", "42", "42"},
	{"number", "42", "**42**"},
	{"number", "12.5", "$12.5$"},
	{"gsm8k", "1250", "1250"},
	{"math", "3/4", `$\frac{3}{4}$`},
	{"math", "42", "42"},
	{"choice", "B", "B"},
	{"choice", "B", "(B)"},
}

// What a sentence of a language does with a value does not depend on the value.
func TestTongues(t *testing.T) {
	total, failed := 0, 0
	for _, l := range tongues {
		for _, kind := range []struct {
			name      string
			templates []string
			right     bool
		}{{"states", l.states, true}, {"corrects", l.corrects, true}, {"confirms", l.confirms, true}, {"withdraws", l.withdraws, false}, {"others", l.others, false}} {
			for _, template := range kind.templates {
				for _, v := range tongueValues {
					raw := fmt.Sprintf(template, v.written)
					if v.task == "choice" {
						raw = strings.ReplaceAll(raw, "7", "F")
					}
					task, err := answer.TaskNamed(v.task)
					if err != nil {
						t.Fatal(err)
					}
					p := answer.Problem{Gold: v.gold}
					x := answer.Extract(task, raw, p, answer.Options{})
					total++
					if right := task.Validate(x.Candidate, p).OK; right != kind.right {
						failed++
						t.Logf("%s %s %s: %q by %s, %s: %q", l.lang, kind.name, v.task, x.Candidate, x.Method, x.Status, raw)
						if !kind.right {
							t.Errorf("%s: counts as right: %q by %s: %q", l.lang, x.Candidate, x.Method, raw)
						}
					}
				}
			}
		}
	}
	if t.Logf("%d of %d differ", failed, total); failed > 1 {
		t.Errorf("%d of %d sentences are not read as they are written, want at most 1", failed, total)
	}
}
