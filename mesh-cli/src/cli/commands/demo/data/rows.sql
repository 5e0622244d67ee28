-- The rows of the sample: a small blog.

INSERT INTO users (id, name, email, role, bio, manager_id, created_at) VALUES
(1, 'Ingrid Solheim', 'ingrid.solheim@example.com', 'admin', 'Started this blog in a kitchen and never quite left it.', NULL, '2024-01-01 10:11:01'),
(2, 'Tobias Ferreira', 'tobias@example.com', 'admin', 'Keeps the lights on. Writes about databases when they misbehave.', 1, '2024-01-02 20:04:02'),
(3, 'Amara Okonkwo', 'amara.okonkwo@example.com', 'editor', 'Editor for food and garden. Reads every draft twice.', 1, '2024-01-03 11:17:51'),
(4, 'José Ángel Ibarra', 'jose.ibarra@example.com', 'editor', 'Edits the outdoors pages, usually from a train.', 1, '2024-01-04 10:00:25'),
(5, 'Mei-Lin Zhao', 'meilin.zhao@example.com', 'editor', 'Software editor. Ask me about semicolons.', 2, '2024-01-05 09:39:38'),
(6, 'Ruth Abernathy', 'ruth.a@example.org', 'editor', NULL, 1, '2024-01-06 19:30:19'),
(7, 'Łukasz Wiśniewski', 'lukasz.w@example.com', 'author', 'Home baker with one oven, two starters and no patience.', 3, '2024-01-07 13:09:11'),
(8, 'Freya Lindqvist', 'freya@example.org', 'author', 'Grows vegetables on a north-facing balcony out of spite. 🌱', 3, '2024-01-08 10:31:14'),
(9, 'Dmitri Halloran', 'dmitri.halloran@example.com', 'author', 'Writes Rust for a living and prose for fun.', 5, '2024-01-09 08:51:28'),
(10, 'Priya Raghunathan', 'priya.r@example.com', 'author', 'Database engineer. I like my queries boring.', 2, '2024-01-10 10:42:25'),
(11, 'Sione Taufa', 'sione.taufa@example.org', 'author', 'Walks slowly, carries too much tea.', 4, '2024-01-11 07:39:05'),
(12, 'Élodie Marchetti', 'elodie.marchetti@example.com', 'author', 'Bicycle mechanic, three days a week in the shop on the canal.', 4, '2024-01-12 16:10:35'),
(13, 'Hannah Brückner', 'hannah.brueckner@example.com', 'author', 'Translates novels and argues with dictionaries.', 6, '2024-01-13 21:32:27'),
(14, 'Kwame Asante', 'kwame.asante@example.org', 'author', 'Bass player. Former physics teacher.', 6, '2024-01-14 06:27:49'),
(15, 'Noor van Dijk', 'noor.vandijk@example.com', 'author', NULL, 4, '2024-01-15 13:12:21'),
(16, 'Callum Reyes', 'callum.reyes@example.com', 'author', 'Restoring an 1890s terrace house, one surprise at a time.', 6, '2024-01-16 19:21:11'),
(17, 'Yūko Tanabe', 'yuko.tanabe@example.com', 'author', 'Film cameras, bread, and long walks between the two.', 3, '2024-01-17 11:28:21'),
(18, 'Petra Novotná', 'petra.novotna@example.org', 'author', 'Tests things until they break, then writes it down.', 5, '2024-01-18 21:30:39'),
(19, 'Oluwaseun Bright', 'seun.bright@example.com', 'author', NULL, 6, '2024-01-19 12:45:47'),
(20, 'Søren Kjeldsen', 'soren.kjeldsen@example.com', 'author', 'Keeps bees, a compost heap and a grudge against slugs.', 3, '2024-01-20 15:28:39'),
(21, 'Maya Goldberg', 'maya.goldberg@example.com', 'reader', NULL, NULL, '2024-03-04 21:23:28'),
(22, 'Kai 🌊', 'kai@example.org', 'reader', 'Mostly at the beach.', NULL, '2024-04-06 15:26:58'),
(23, 'Ananya Bhatt', 'ananya.bhatt@example.com', 'reader', 'Here for the bread, stayed for the SQL.', NULL, '2024-05-09 06:08:54'),
(24, 'Will Prendergast', 'will.p@example.com', 'reader', NULL, NULL, '2024-06-11 20:35:18'),
(25, 'Zsófia Kertész', 'zsofia.kertesz@example.org', 'reader', 'Librarian in a small town with a large library.', NULL, '2024-07-14 15:19:51'),
(26, 'Diego Montalvo', 'diego.montalvo@example.com', 'reader', 'Weekend cyclist, weekday accountant.', NULL, '2024-08-16 09:49:13'),
(27, 'Grace Mwangi', 'grace.mwangi@example.com', 'reader', 'Garden first, everything else after.', NULL, '2024-09-18 08:20:43'),
(28, 'Tomasz O''Brien', 'tomasz.obrien@example.com', 'reader', NULL, NULL, '2024-10-21 13:01:03'),
(29, 'Leïla Benhaddou', 'leila.b@example.org', 'reader', 'Learning the cello at fifty-one.', NULL, '2024-11-23 15:23:34'),
(30, 'Aiko Watanabe', 'aiko.watanabe@example.com', 'reader', NULL, NULL, '2024-12-26 12:00:32'),
(31, 'Ben Castellanos', 'ben.castellanos@example.com', 'reader', 'Backend developer. Lurker, mostly.', NULL, '2025-01-28 21:55:32'),
(32, 'Fatima al-Rashid', 'fatima.alrashid@example.org', 'reader', 'Two kids, one allotment, no free evenings.', NULL, '2025-03-02 19:07:46'),
(33, 'Göran Ek', 'goran.ek@example.com', 'reader', 'Retired surveyor. I still look at every map. 🗺️', NULL, '2025-04-04 19:27:17'),
(34, 'Chloe Dubois-Hart', 'chloe.dh@example.com', 'reader', NULL, NULL, '2025-05-07 20:40:05'),
(35, 'Rafael Quintanilha', 'rafael.q@example.com', 'reader', 'Night shift nurse who bakes in the morning.', NULL, '2025-06-09 21:58:37'),
(36, 'Siobhán Keane', 'siobhan.keane@example.org', 'reader', 'Fiddle, mostly in tune.', NULL, '2025-07-12 09:44:17'),
(37, 'Viktor Petrov', 'viktor.petrov@example.com', 'reader', NULL, NULL, '2025-08-14 12:27:54'),
(38, 'Nadia Rahimi', 'nadia.rahimi@example.com', 'reader', 'Carpenter''s daughter, carpenter''s mother.', NULL, '2025-09-16 21:12:33'),
(39, '陳怡君 (Yi-Chun Chen)', 'yichun.chen@example.org', 'reader', 'Street photographer in the rain.', NULL, '2025-10-19 18:34:45'),
(40, 'Óscar Bjarnason', 'oscar.bjarnason@example.com', 'reader', 'Reads everything, comments seldom.', NULL, '2025-11-21 13:10:24');

INSERT INTO tags (id, name, label) VALUES
(1, 'bread', 'Bread & Baking'),
(2, 'fermentation', 'Fermentation'),
(3, 'garden', 'Garden'),
(4, 'seeds', 'Seeds & Seedlings'),
(5, 'rust', 'Rust'),
(6, 'testing', 'Testing'),
(7, 'databases', 'Databases'),
(8, 'sql', 'SQL'),
(9, 'hiking', 'Hiking'),
(10, 'maps', 'Maps & Navigation'),
(11, 'cycling', 'Cycling'),
(12, 'repair', 'Repair'),
(13, 'books', 'Books'),
(14, 'translation', 'Translation'),
(15, 'music', 'Music'),
(16, 'photography', 'Photography'),
(17, 'home', 'House & Home'),
(18, 'how-to', 'How-to'),
(19, 'story', 'Stories'),
(20, 'opinion', 'Opinion');

INSERT INTO posts (id, author_id, title, body, status, rating, pinned, metadata, published_at, created_at) VALUES
(1, 14, 'Singing Second Voice', 'We rehearse on Thursdays in a garage that belongs to the drummer''s aunt. A metronome does not judge you. It only waits, at seventy-two beats a minute. Twenty minutes each day beat three hours on Sunday, and the family prefers it too.

Half of the arrangement is deciding who does not play. My teacher says very little and always says it about the left hand. The dead keys turned out to be dust and one very old coin.

Play it at half the speed until it becomes boring, then a little slower. It is not finished. I am starting to think that this is the point.', 'published', 2.9, 0, '{"words":106,"cover":{"file":"covers/001.jpg","width":1600},"license":"CC-BY-4.0"}', '2024-02-11 17:57:17', '2024-02-10 18:13:05'),
(2, 5, 'Property Tests Found a Bug in My Understanding', 'Here is something I got wrong for a long time and would like to save you from. Once the inputs were random, the bug took eleven seconds to find. Nobody reads the third paragraph of an error message, so put the remedy in the first line.

The profiler pointed at a place none of us had guessed, as it always does. I like code that I can read out loud without stopping to explain. We kept the old version around for a month and nobody asked for it.', 'draft', NULL, 0, '{"words":88,"cover":{"file":"covers/002.jpg","width":2400},"license":"CC-BY-4.0"}', NULL, '2024-02-16 09:44:23'),
(3, 15, 'How to Patch a Tube in the Rain', 'I have ridden the same eleven kilometers twice a day for seven years, and they still surprise me. We stopped at every bakery, which is why the average speed will not be published here. A squeal is nearly always grease where there should be none.

The ninth puncture was a thorn from the same hedge as the first. The tools for all of this fit into an old sock.', 'published', 3.5, 0, NULL, '2024-02-24 02:30:43', '2024-02-22 17:10:43'),
(4, 8, 'The Neighbor''s Quince', 'I found last year''s notebook under a pot. It explains a great deal. Most plants die of kindness, usually in the form of water. The beans climbed the drainpipe instead of the poles, and I let them.

Bees prefer the weeds along the fence to anything I have paid for. The frost came on the nineteenth of May, a week after everyone had agreed that it would not. I stopped digging the beds three years ago. The worms have taken it over, and they do it better.

For now the bed is empty, raked, and full of plans.', 'archived', NULL, 0, '{"words":98,"cover":null,"license":"CC-BY-4.0"}', '2024-03-01 17:31:06', '2024-02-28 06:27:06'),
(5, 13, 'Translating a Joke That Does Not Exist Here', 'There is a sentence on page forty that I have translated eleven times. In the second half the weather becomes a character, and a better one than the husband. A translation is a long series of small losses, arranged so that they do not show.

We met in the back room, eight of us and two copies. I have put it back on the shelf, spine out, for the next bad winter.', 'published', 3.0, 0, '{"words":72,"cover":{"file":"covers/005.jpg","width":2400},"license":"all rights reserved"}', '2024-03-09 01:08:54', '2024-03-05 21:21:36'),
(6, 2, 'Reading a Query Plan Like a Recipe', 'We had a rule against premature optimization and no rule for when it stops being premature. Do it in steps that can each be undone: add, copy, switch, remove. A constraint in the schema outlives every validation in the code.

We restored the backup on a Wednesday afternoon, just to see, and it took three attempts. Long transactions are like long meetings: everyone behind you is waiting. It has been quiet since, which is the nicest thing one can say about a database.', 'published', 4.7, 0, '{"words":83,"cover":{"file":"covers/006.jpg","width":1600},"license":"all rights reserved"}', '2024-03-11 16:40:11', '2024-03-10 16:17:16'),
(7, 11, 'The Pass in Late Snow', 'Nobody had signed the book in the hut for nine days. Turning back cost us the summit and gave us a long lunch by the lake. I carry a paper map because it has never run out of battery at the worst moment.

From the saddle you can see three valleys and, on a clear day, the sea. If you take this route, say hello to the warden from me.', 'published', 4.6, 0, '{"words":70,"cover":{"file":"covers/007.jpg","width":2400},"license":"CC-BY-4.0"}', '2024-03-17 05:18:22', '2024-03-16 08:05:30'),
(8, 7, 'Three Ways to Rescue an Overproofed Loaf', 'For years I blamed the flour. It was never the flour. A cast-iron pot with a lid holds more steam than anything I have ever rigged up with trays and ice. Whole grain drinks more water than you expect, and it drinks it slowly.

Most recipes hide the real instruction in the photograph: look at the edges, not at the clock. Let it cool. I know. Let it cool anyway. Next week I will try the same thing with spelt and probably regret it.', 'published', NULL, 0, '{"words":84,"cover":null,"license":"CC-BY-4.0","audience":["beginners","bakers"]}', '2024-03-25 00:23:36', '2024-03-22 19:24:37'),
(9, 11, 'Thirty-Six Frames and No Screen', 'I gave myself one lens and one year, and broke the rule in week three. Delete the sharp ones in which nothing happens. The shutter stuck at a thirtieth, so for a month everything I took was at a thirtieth.

People relax once you lower the camera; the picture is made right after that. Meter for the shadows, forgive the highlights, and write down what you did. With thirty-six frames you look twice before you press, and often you do not press at all.

Wet asphalt is a second sky, if you get low enough and do not mind your knees. Look at it again in a year. That is the whole method.', 'draft', NULL, 0, '{"words":113,"cover":{"file":"covers/009.jpg","width":1200},"license":"CC-BY-4.0"}', NULL, '2024-03-28 17:58:01'),
(10, 16, 'Old Doors Deserve Better', 'Nothing here is square, level or where the plan says that it is. Bleed the radiators from the bottom of the house to the top, and keep a cup at hand. A sharp chisel is the only safe one, and it takes six minutes at the kitchen table.

Turn the power off at the board, then check anyway, then check with the other tester. I walked through the rooms with a candle, and it went out in all of the places I had feared. Water travels along a beam until it finds a place where you have just painted.

The screws were slotted, brass, and tighter than anything made since. There are four rooms left. We do not talk about the cellar.', 'published', 3.2, 0, '{"words":122,"cover":null,"license":"all rights reserved"}', '2024-04-07 15:50:39', '2024-04-03 17:53:10'),
(11, 16, 'What the Last Owner Hid Under the Floor', 'The estate agent called it charming, which I now know is a measurement. We found a child''s shoe, a newspaper from 1911 and a perfectly good hammer. Nine coats of paint came off the door, and the fourth was a very good green.

Measure the corner at three heights, since it will be a different corner each time. The shelf is crooked, the corner is crooked, and together they look straight.', 'draft', NULL, 0, '{"words":71,"cover":null,"license":"all rights reserved"}', NULL, '2024-04-08 17:36:49'),
(12, 17, 'Crumb Shots Are a Trap', 'For years I blamed the flour. It was never the flour. If your kitchen is below twenty degrees, add an hour. If it is above twenty-six, take one away and keep watching. I mix in the evening, fold it twice before bed, and let the cold do the rest.

Whole grain drinks more water than you expect, and it drinks it slowly. A cast-iron pot with a lid holds more steam than anything I have ever rigged up with trays and ice. A pinch of sugar will not speed it up, but a warm bowl will.

I used to knead until my shoulders hurt. Now I fold every half hour and read in between. None of this is difficult. It only takes longer than we would like.', 'draft', NULL, 0, '{"words":127,"cover":{"file":"covers/012.jpg","width":1600},"license":"all rights reserved"}', NULL, '2024-04-14 20:23:00'),
(13, 10, 'Backups You Have Never Restored', 'The page was slow for exactly one customer, and of course it was the largest one. We store times in UTC now and no longer discuss it. The column allowed NULL because nobody had decided. Undecided is also a decision.

Measure it with real data; a hundred rows are always fast. The fix was a single line. Finding it was the job.', 'published', 4.2, 0, '{"words":62,"cover":null,"license":"CC-BY-4.0"}', '2024-04-22 11:42:47', '2024-04-20 20:08:57'),
(14, 20, 'The Slugs Won, and What I Did Next', 'Every spring I promise to sow less, and every May there are forty tomatoes looking at me. Bees prefer the weeds along the fence to anything I have paid for. Most plants die of kindness, usually in the form of water.

The slugs come out at ten in the evening, and since June so do I, with a torch. The kitchen smells of dill, and that is my whole report.', 'published', NULL, 0, '{"words":70,"cover":{"file":"covers/014.jpg","width":2400},"license":"CC-BY-4.0"}', '2024-04-29 22:11:12', '2024-04-26 20:04:09'),
(15, 13, 'Why I Keep Bad Books', 'There is a sentence on page forty that I have translated eleven times. A translation is a long series of small losses, arranged so that they do not show. I read the difficult page aloud, and it turned out to be a song.

The older translation is more beautiful, the newer one is more true, and I would not lend out either. If you find my pencil marks one day, feel free to argue.', 'published', 5.0, 0, '{"words":74,"cover":{"file":"covers/015.jpg","width":1200},"license":"CC-BY-4.0"}', '2024-05-04 08:25:53', '2024-05-02 07:01:29'),
(16, 14, 'What the Metronome Is For', 'Some songs arrive in an afternoon. This one took from February to November. We changed the key for the singer, and the guitar part finally made sense. Play it at half the speed until it becomes boring, then a little slower.

Twenty minutes each day beat three hours on Sunday, and the family prefers it too. The silence before the last chorus is the loudest thing in the song. The recording is rough, and I have decided to keep it that way.', 'published', 2.9, 0, '{"words":82,"cover":{"file":"covers/016.jpg","width":2400},"license":"CC-BY-4.0","audience":["beginners","musicians"]}', '2024-05-08 19:29:01', '2024-05-07 15:34:46'),
(17, 9, 'Our Build Took Nine Minutes. Now It Takes Two.', 'I have been writing Rust for six years and still delete more than I add on a good day. Half of the options had never been set by anyone, in any environment, since the first commit. The borrow checker was right, and it took me an afternoon to admit it.

Caching would have hidden the problem for another month. The patch was nine lines long. The explanation took two pages.', 'archived', 3.6, 0, '{"words":70,"cover":{"file":"covers/017.jpg","width":2400},"license":"all rights reserved"}', '2024-05-16 10:28:45', '2024-05-13 15:43:40'),
(18, 11, 'Paper Maps Are Not Nostalgia', 'There are faster ways up this hill, and I have come to dislike all of them. Somebody had left a thermos of coffee on the bench with a note that said ''help yourself''. Every hour we stopped for five minutes, and nobody was tired at the end.

The path climbs through larches, loses itself in a bog, and finds you again on the other side. A stranger pointed at the clouds, shook his head, and we took his advice. The mountain will be there next year. That is the best thing about it.', 'published', 4.8, 0, '{"words":93,"cover":null,"license":"CC-BY-4.0"}', '2024-05-23 10:14:58', '2024-05-19 19:03:04'),
(19, 12, 'Buying a Used Bike Without Buying Trouble', 'There is a headwind on the way to work and, by some law of nature, another on the way home. Wipe the chain, oil it, wait a minute, and wipe it again; the second wipe is the one that people skip. Turn the nipple a quarter, spin the wheel, look, and do it again. There is no faster way.

The ninth puncture was a thorn from the same hedge as the first. A squeal is nearly always grease where there should be none. Ride it once around the block before you thank me.', 'published', 2.6, 0, '{"words":93,"cover":{"file":"covers/019.jpg","width":1200},"license":"all rights reserved","audience":["beginners","commuters"]}', '2024-05-29 00:41:10', '2024-05-25 12:24:54'),
(20, 17, 'One Lens for a Whole Year', 'It rained all day, which is to say that the light was perfect. I went back the next morning for the same picture, and of course it was gone. The best frame on the sheet is usually the one before the one I remember.

Meter for the shadows, forgive the highlights, and write down what you did. Red light, the smell of fixer, and a face that comes up out of nothing: it does not get old. The shutter stuck at a thirtieth, so for a month everything I took was at a thirtieth.

One roll left in the fridge, behind the butter.', 'published', 2.6, 0, NULL, '2024-06-01 01:16:50', '2024-05-31 20:43:24'),
(21, 20, 'Frost Dates Are Only a Rumor', 'It rained for three weeks, then not at all for five. A thick layer of straw did more than the hose ever has. The frost came on the nineteenth of May, a week after everyone had agreed that it would not.

If the heap smells, it wants paper. If it does nothing at all, it wants grass. The slugs come out at ten in the evening, and since June so do I, with a torch. Most plants die of kindness, usually in the form of water.

A handful of the old compost in every new pot seems to help, though I could not prove it. The kitchen smells of dill, and that is my whole report.', 'published', 4.7, 0, '{"words":116,"cover":{"file":"covers/021.jpg","width":2400},"license":"all rights reserved"}', '2024-06-06 19:20:52', '2024-06-05 21:08:12'),
(22, 1, 'My Grandmother''s Braided Loaf, Decoded', 'Last Sunday I baked four loaves, gave away two, and learned more from the one that failed. The scale cost less than a bag of good flour and has improved my bread more than any book. Whole grain drinks more water than you expect, and it drinks it slowly.

I mix in the evening, fold it twice before bed, and let the cold do the rest. A cast-iron pot with a lid holds more steam than anything I have ever rigged up with trays and ice. The recipe fits on an index card, and the card is already stained. That is how I know it works.', 'draft', NULL, 0, '{"words":106,"cover":{"file":"covers/022.jpg","width":2400},"license":"all rights reserved"}', NULL, '2024-06-11 16:14:35'),
(23, 18, 'A Log Line Worth Keeping', 'A colleague asked me why the code was so plain. I took it as a compliment. A function that needs a comment to say what it returns needs a better name instead. Caching would have hidden the problem for another month.

The type made the wrong state impossible, and half of the checks simply went away. The profiler pointed at a place none of us had guessed, as it always does. We agreed on one rule: a test may be slow or it may be unclear, but never both.

I like code that I can read out loud without stopping to explain. If you do one thing this week, go and read the oldest ignored test you have.', 'published', NULL, 0, '{"words":118,"cover":{"file":"covers/023.jpg","width":1600},"license":"CC-BY-4.0"}', '2024-06-19 06:16:03', '2024-06-17 08:12:48'),
(24, 8, 'The Darkroom Under the Stairs', 'The darkroom is two square meters, and one of them is the boiler. With thirty-six frames you look twice before you press, and often you do not press at all. People relax once you lower the camera; the picture is made right after that.

The best frame on the sheet is usually the one before the one I remember. I went back the next morning for the same picture, and of course it was gone. Red light, the smell of fixer, and a face that comes up out of nothing: it does not get old.

I sent her a copy. She has put it in the shop window.', 'published', 2.5, 0, NULL, '2024-06-25 08:55:18', '2024-06-23 16:00:51'),
(25, 12, 'A Slow Race Around the Lake', 'The bicycle came into the shop with a note that said ''makes a noise''. The ninth puncture was a thorn from the same hedge as the first. We stopped at every bakery, which is why the average speed will not be published here.

Nobody has ever come into the shop too early. Cold air needs a lower pressure and a better breakfast. The towpath is flat, shaded and full of herons who do not move for anybody.

It rolls without a sound now. I miss the noise a little.', 'published', 5.0, 0, NULL, '2024-06-29 21:06:54', '2024-06-29 06:58:32'),
(26, 13, 'Short Books for Long Trains', 'I bought it for the cover, forgot it for six years, and read it in one night. You can skip the battle. The kitchen scene afterwards is what the book is about. We met in the back room, eight of us and two copies.

A translation is a long series of small losses, arranged so that they do not show. The librarian did not recommend anything. She asked what I had last enjoyed, and waited. The older translation is more beautiful, the newer one is more true, and I would not lend out either.

I have put it back on the shelf, spine out, for the next bad winter.', 'draft', NULL, 0, NULL, NULL, '2024-07-04 13:56:53'),
(27, 14, 'A Synth from the Flea Market', 'The neighbor knocked at nine, not to complain but to ask what the tune was called. Play it at half the speed until it becomes boring, then a little slower. We changed the key for the singer, and the guitar part finally made sense.

Nobody hears the bass until it stops. I record every rehearsal on my phone and listen on the tram, wincing. Half of the arrangement is deciding who does not play.

It is not finished. I am starting to think that this is the point.', 'published', 4.7, 0, '{"words":88,"cover":{"file":"covers/027.jpg","width":2400},"license":"all rights reserved"}', '2024-07-11 22:41:08', '2024-07-10 13:55:51'),
(28, 2, 'Time Zones Belong in the Schema', 'The dashboard was green. The phone was ringing. One of them was wrong. We restored the backup on a Wednesday afternoon, just to see, and it took three attempts. We store times in UTC now and no longer discuss it.

The estimate was off by a factor of nine hundred, since the statistics were from last spring. We wrote it into the handbook so that the next person has less fun than we had.', 'published', 4.5, 0, NULL, '2024-07-19 17:42:22', '2024-07-16 14:55:03'),
(29, 20, 'A Shelf for the Corner That Is Not Square', 'The estate agent called it charming, which I now know is a measurement. A sharp chisel is the only safe one, and it takes six minutes at the kitchen table. Turn the power off at the board, then check anyway, then check with the other tester.

Water travels along a beam until it finds a place where you have just painted. We put everything back under the floor, with a note of our own.', 'draft', NULL, 0, '{"words":74,"cover":null,"license":"all rights reserved"}', NULL, '2024-07-22 14:58:38'),
(30, 11, 'Walking the Coast at Low Tide', 'There are faster ways up this hill, and I have come to dislike all of them. A stranger pointed at the clouds, shook his head, and we took his advice. From the saddle you can see three valleys and, on a clear day, the sea.

The path climbs through larches, loses itself in a bog, and finds you again on the other side. Above the tree line the wind does the talking, so we walked without a word for an hour. The descent is steeper than it looks; keep the poles and forget the photographs.

I would do it again tomorrow, only with a second pair of gloves.', 'published', NULL, 0, '{"words":108,"cover":{"file":"covers/030.jpg","width":1600},"license":"all rights reserved"}', '2024-07-29 21:20:47', '2024-07-28 06:24:33'),
(31, 19, 'Listening to One Record for a Month', 'We rehearse on Thursdays in a garage that belongs to the drummer''s aunt. A metronome does not judge you. It only waits, at seventy-two beats a minute. We changed the key for the singer, and the guitar part finally made sense.

My teacher says very little and always says it about the left hand. If you are in town, come by. Bring a chair.', 'published', 4.3, 0, '{"words":64,"cover":null,"license":"CC-BY-4.0"}', '2024-08-06 08:07:10', '2024-08-02 07:35:37'),
(32, 8, 'Asking Strangers for a Portrait', 'Fog makes everybody a good photographer for about forty minutes. The shutter stuck at a thirtieth, so for a month everything I took was at a thirtieth. With thirty-six frames you look twice before you press, and often you do not press at all.

Meter for the shadows, forgive the highlights, and write down what you did. A light leak ruined four frames and made the fifth. The best frame on the sheet is usually the one before the one I remember.

The print hangs in the hallway, slightly crooked, as it should.', 'published', 4.0, 0, NULL, '2024-08-08 13:15:18', '2024-08-08 07:36:07'),
(33, 5, 'Naming Things After What They Answer', 'A colleague asked me why the code was so plain. I took it as a compliment. Every retry policy is a load test that you have not run yet. We wrote the failing case first, then argued about the fix over lunch.

Once the inputs were random, the bug took eleven seconds to find. A function that needs a comment to say what it returns needs a better name instead. The profiler pointed at a place none of us had guessed, as it always does.

The type made the wrong state impossible, and half of the checks simply went away. The patch was nine lines long. The explanation took two pages.', 'published', 3.8, 0, '{"words":111,"cover":null,"license":"all rights reserved"}', '2024-08-17 21:12:34', '2024-08-14 19:39:22'),
(34, 4, 'Rain Gear, Honestly Reviewed', 'We missed the bus by a minute, so the walk became four kilometers longer. The stream was higher than the guidebook had led us to believe, and a good deal colder. We counted fourteen ibex and exactly one other person.

From the saddle you can see three valleys and, on a clear day, the sea. Above the tree line the wind does the talking, so we walked without a word for an hour. I would do it again tomorrow, only with a second pair of gloves.', 'published', 4.0, 0, '{"words":86,"cover":{"file":"covers/034.jpg","width":2400},"license":"all rights reserved","audience":["hikers","commuters"]}', '2024-08-23 10:10:28', '2024-08-20 09:50:23'),
(35, 12, 'The Commute Is the Best Part of My Day', 'Most repairs begin with cleaning, and a good number of them end there. Turn the nipple a quarter, spin the wheel, look, and do it again. There is no faster way. Wipe the chain, oil it, wait a minute, and wipe it again; the second wipe is the one that people skip.

We stopped at every bakery, which is why the average speed will not be published here. Nobody has ever come into the shop too early. Cold air needs a lower pressure and a better breakfast.

A squeal is nearly always grease where there should be none. Tomorrow it will rain, and I am looking forward to it more than is reasonable.', 'published', NULL, 0, '{"words":113,"cover":null,"license":"all rights reserved"}', '2024-08-27 19:10:17', '2024-08-26 17:56:10'),
(36, 2, 'Paging Without Losing Your Place', 'We had a rule against premature optimization and no rule for when it stops being premature. Long transactions are like long meetings: everyone behind you is waiting. A constraint in the schema outlives every validation in the code.

One composite index, in the right order, and the graph fell off a cliff in the good direction. The estimate was off by a factor of nine hundred, since the statistics were from last spring. We store times in UTC now and no longer discuss it.

Do it in steps that can each be undone: add, copy, switch, remove. It has been quiet since, which is the nicest thing one can say about a database.', 'archived', 3.9, 0, '{"words":113,"cover":{"file":"covers/036.jpg","width":1600},"license":"all rights reserved"}', '2024-09-04 06:04:13', '2024-08-31 13:59:41'),
(37, 3, 'A Pond the Size of a Sink', 'The garden is four meters by six, and I have managed to get lost in it. The slugs come out at ten in the evening, and since June so do I, with a torch. Most plants die of kindness, usually in the form of water.

A handful of the old compost in every new pot seems to help, though I could not prove it. Sow half of the packet now and the other half in two weeks; one of them will meet the right weather. We ate the first bowl standing up, still warm from the sun.', 'archived', NULL, 0, '{"words":97,"cover":{"file":"covers/037.jpg","width":1200},"license":"CC-BY-4.0"}', '2024-09-09 22:02:32', '2024-09-06 19:33:10'),
(38, 16, 'Lime Plaster for the Impatient', 'The house is a hundred and thirty years old and has an opinion on everything. The plasterer watched me for ten minutes and then showed me how to hold the trowel. Lime sets when it wants to, so we made a lot of soup that month.

Measure the corner at three heights, since it will be a different corner each time. It closes now, with one finger, and I show it to every guest.', 'archived', 2.8, 0, '{"words":74,"cover":{"file":"covers/038.jpg","width":2400},"license":"all rights reserved"}', '2024-09-12 10:06:38', '2024-09-12 08:41:16'),
(39, 6, 'What the Dictionary Would Not Tell Me', 'My mother underlined with a ruler. Everything about her is in that. You can skip the battle. The kitchen scene afterwards is what the book is about. The older translation is more beautiful, the newer one is more true, and I would not lend out either.

Some chapters are slow because somebody in them is waiting. The librarian did not recommend anything. She asked what I had last enjoyed, and waited. I read the difficult page aloud, and it turned out to be a song.

I have put it back on the shelf, spine out, for the next bad winter.', 'published', 3.2, 0, NULL, '2024-09-20 02:41:45', '2024-09-18 09:28:44'),
(40, 7, 'Cardamom Buns, the Long Way', 'Someone asked me at the market how I find the time. The honest answer is that dough does not need me for most of the day. Whole grain drinks more water than you expect, and it drinks it slowly. Most recipes hide the real instruction in the photograph: look at the edges, not at the clock.

Write the times down. Memory improves every loaf by about half an hour. I used to knead until my shoulders hurt. Now I fold every half hour and read in between. Let it cool. I know. Let it cool anyway.

I mix in the evening, fold it twice before bed, and let the cold do the rest. Tomorrow there will be toast, and that is reason enough.', 'draft', NULL, 0, NULL, NULL, '2024-09-24 14:25:20'),
(41, 19, 'Sheet Music Is a Rough Sketch', 'I bought it for forty euros with two dead keys and a smell of cellar. A metronome does not judge you. It only waits, at seventy-two beats a minute. Play it at half the speed until it becomes boring, then a little slower.

My teacher says very little and always says it about the left hand. We changed the key for the singer, and the guitar part finally made sense. The neighbor has asked for an encore.', 'published', 4.6, 0, '{"words":77,"cover":{"file":"covers/041.jpg","width":1600},"license":"all rights reserved"}', '2024-09-30 23:06:22', '2024-09-29 16:29:05'),
(42, 3, 'Planting Garlic When Everyone Else Has Stopped', 'It rained for three weeks, then not at all for five. The slugs come out at ten in the evening, and since June so do I, with a torch. A thick layer of straw did more than the hose ever has.

Bees prefer the weeds along the fence to anything I have paid for. The kitchen smells of dill, and that is my whole report.', 'published', 5.0, 0, '{"words":65,"cover":null,"license":"CC-BY-4.0"}', '2024-10-08 03:15:55', '2024-10-05 11:00:23'),
(43, 20, 'The Radiator Symphony', 'We only wanted to change a light bulb. Turn the power off at the board, then check anyway, then check with the other tester. Water travels along a beam until it finds a place where you have just painted.

We found a child''s shoe, a newspaper from 1911 and a perfectly good hammer. The shelf is crooked, the corner is crooked, and together they look straight.', 'published', 5.0, 0, '{"words":66,"cover":{"file":"covers/043.jpg","width":1600},"license":"all rights reserved"}', '2024-10-13 19:33:49', '2024-10-11 20:26:58'),
(44, 7, 'Why My Rye Kept Collapsing', 'My oven is twelve years old, runs thirty degrees hot on the left, and I would not trade it. A cast-iron pot with a lid holds more steam than anything I have ever rigged up with trays and ice. Let it cool. I know. Let it cool anyway.

A pinch of sugar will not speed it up, but a warm bowl will. The scale cost less than a bag of good flour and has improved my bread more than any book. Whole grain drinks more water than you expect, and it drinks it slowly.

The dough should feel like an earlobe after the third fold; if it feels like soup, give it another rest before you add flour. Tomorrow there will be toast, and that is reason enough.', 'published', 4.9, 0, '{"words":128,"cover":{"file":"covers/044.jpg","width":1200},"license":"all rights reserved"}', '2024-10-19 02:54:31', '2024-10-17 11:12:28'),
(45, 18, 'The Feature Flag We Forgot', 'The ticket said ''sometimes slow''. Those two words cost us a week. The borrow checker was right, and it took me an afternoon to admit it. I like code that I can read out loud without stopping to explain.

Half of the options had never been set by anyone, in any environment, since the first commit. We agreed on one rule: a test may be slow or it may be unclear, but never both. If you do one thing this week, go and read the oldest ignored test you have.', 'published', 3.0, 0, '{"words":90,"cover":null,"license":"all rights reserved"}', '2024-10-26 12:42:03', '2024-10-23 09:02:58'),
(46, 2, 'Counting Things Is Expensive', 'The page was slow for exactly one customer, and of course it was the largest one. One composite index, in the right order, and the graph fell off a cliff in the good direction. Keep the last key you have seen and ask for what comes after it; the order must be total, so add the id.

The estimate was off by a factor of nine hundred, since the statistics were from last spring. The column allowed NULL because nobody had decided. Undecided is also a decision. The planner read four million rows to return twelve, because nothing told it not to.

We restored the backup on a Wednesday afternoon, just to see, and it took three attempts. I am still not sure why it ever worked before.', 'published', 3.0, 1, '{"words":128,"cover":{"file":"covers/046.jpg","width":1600},"license":"all rights reserved"}', '2024-10-31 03:22:05', '2024-10-28 16:03:10'),
(47, 11, 'Two Days on the Ridge with the Wrong Map', 'There are faster ways up this hill, and I have come to dislike all of them. The path climbs through larches, loses itself in a bog, and finds you again on the other side. I carry a paper map because it has never run out of battery at the worst moment.

Above the tree line the wind does the talking, so we walked without a word for an hour. The descent is steeper than it looks; keep the poles and forget the photographs. The last train leaves at 18:42. We caught it with wet feet and no regrets.', 'draft', NULL, 0, '{"words":98,"cover":{"file":"covers/047.jpg","width":1600},"license":"CC-BY-4.0"}', NULL, '2024-11-03 21:41:01'),
(48, 15, 'A Chain Lasts Longer If You Look at It', 'We left at six with full bottles, dry socks and a plan. By noon only the bottles were left. The frame is heavier than anything you could buy today, and it will be here when those are gone. I carry two tubes, a patch kit for when those are gone, and a banknote that has patched a tire twice.

We stopped at every bakery, which is why the average speed will not be published here. Wipe the chain, oil it, wait a minute, and wipe it again; the second wipe is the one that people skip. The tools for all of this fit into an old sock.', 'published', 3.2, 0, '{"words":107,"cover":null,"license":"all rights reserved"}', '2024-11-12 13:56:05', '2024-11-09 20:49:56'),
(49, 11, 'An Old Camera with a Sticky Shutter', 'The darkroom is two square meters, and one of them is the boiler. I print small, at the size of a postcard, and hold it in my hand for a week. Meter for the shadows, forgive the highlights, and write down what you did.

Red light, the smell of fixer, and a face that comes up out of nothing: it does not get old. With thirty-six frames you look twice before you press, and often you do not press at all. Wet asphalt is a second sky, if you get low enough and do not mind your knees.

I sent her a copy. She has put it in the shop window.', 'published', 2.7, 0, '{"words":111,"cover":{"file":"covers/049.jpg","width":2400},"license":"all rights reserved"}', '2024-11-16 23:33:06', '2024-11-15 18:25:31'),
(50, 13, 'In Defense of the Slow Chapter', 'My mother underlined with a ruler. Everything about her is in that. The librarian did not recommend anything. She asked what I had last enjoyed, and waited. The older translation is more beautiful, the newer one is more true, and I would not lend out either.

Some chapters are slow because somebody in them is waiting. You can skip the battle. The kitchen scene afterwards is what the book is about. The dictionary offered nine meanings and the author had found a tenth.

Read it slowly, or not at all.', 'published', NULL, 0, NULL, '2024-11-23 01:44:38', '2024-11-21 11:40:23'),
(51, 4, 'With Children, Halve the Distance', 'Nobody had signed the book in the hut for nine days. Somebody had left a thermos of coffee on the bench with a note that said ''help yourself''. The descent is steeper than it looks; keep the poles and forget the photographs.

Turning back cost us the summit and gave us a long lunch by the lake. Two socks, one spare shirt, more food than you think: that is the whole list. The mountain will be there next year. That is the best thing about it.', 'published', NULL, 0, '{"words":86,"cover":{"file":"covers/051.jpg","width":2400},"license":"all rights reserved"}', '2024-11-27 02:51:46', '2024-11-26 18:51:39'),
(52, 1, 'The Case for Weighing Everything', 'I did not set out to write about bread again, but the kitchen had other plans. A pinch of sugar will not speed it up, but a warm bowl will. If your kitchen is below twenty degrees, add an hour. If it is above twenty-six, take one away and keep watching.

Most recipes hide the real instruction in the photograph: look at the edges, not at the clock. Tomorrow there will be toast, and that is reason enough.', 'published', 4.5, 0, NULL, '2024-12-03 01:11:28', '2024-12-02 20:10:38'),
(53, 20, 'The Window That Would Not Close', 'Under the carpet there was linoleum, under the linoleum newspaper, and under the newspaper a floor. The screws were slotted, brass, and tighter than anything made since. Turn the power off at the board, then check anyway, then check with the other tester.

Lime sets when it wants to, so we made a lot of soup that month. We put everything back under the floor, with a note of our own.', 'published', NULL, 0, '{"words":71,"cover":null,"license":"all rights reserved"}', '2024-12-10 16:00:35', '2024-12-08 15:34:07'),
(54, 18, 'Deleting Four Thousand Lines on a Friday', 'It began, as these things do, with a test that was marked as flaky and left alone. We wrote the failing case first, then argued about the fix over lunch. The borrow checker was right, and it took me an afternoon to admit it.

We agreed on one rule: a test may be slow or it may be unclear, but never both. Caching would have hidden the problem for another month. If you do one thing this week, go and read the oldest ignored test you have.', 'archived', 4.5, 0, '{"words":87,"cover":{"file":"covers/054.jpg","width":2400},"license":"all rights reserved"}', '2024-12-15 08:26:13', '2024-12-14 20:40:10'),
(55, 2, 'Foreign Keys Are Documentation That Bites', 'We had a rule against premature optimization and no rule for when it stops being premature. We restored the backup on a Wednesday afternoon, just to see, and it took three attempts. An offset of fifty thousand means that the first fifty thousand rows are read and thrown away.

The column allowed NULL because nobody had decided. Undecided is also a decision. The estimate was off by a factor of nine hundred, since the statistics were from last spring. Try the restore. Really. Today, if you can.', 'draft', NULL, 0, '{"words":87,"cover":{"file":"covers/055.jpg","width":1200},"license":"CC-BY-4.0"}', NULL, '2024-12-20 08:30:03'),
(56, 15, 'My Father''s Frame, Repainted', 'It was hanging in the barn behind a ladder, under twenty years of swallows. The towpath is flat, shaded and full of herons who do not move for anybody. Cold air needs a lower pressure and a better breakfast.

I carry two tubes, a patch kit for when those are gone, and a banknote that has patched a tire twice. Turn the nipple a quarter, spin the wheel, look, and do it again. There is no faster way. The tools for all of this fit into an old sock.', 'published', NULL, 0, '{"words":89,"cover":{"file":"covers/056.jpg","width":1200},"license":"CC-BY-4.0"}', '2024-12-28 11:30:26', '2024-12-25 18:09:25'),
(57, 19, 'Playing Quietly in a Thin-Walled Flat', 'Some songs arrive in an afternoon. This one took from February to November. The silence before the last chorus is the loudest thing in the song. I record every rehearsal on my phone and listen on the tram, wincing.

A metronome does not judge you. It only waits, at seventy-two beats a minute. The dead keys turned out to be dust and one very old coin. It is not finished. I am starting to think that this is the point.', 'draft', NULL, 0, '{"words":80,"cover":null,"license":"CC-BY-4.0"}', NULL, '2024-12-31 10:15:37'),
(58, 8, 'How I Water Less and Grow More', 'Every spring I promise to sow less, and every May there are forty tomatoes looking at me. Bees prefer the weeds along the fence to anything I have paid for. A handful of the old compost in every new pot seems to help, though I could not prove it.

If the heap smells, it wants paper. If it does nothing at all, it wants grass. We ate the first bowl standing up, still warm from the sun.', 'published', 4.5, 0, NULL, '2025-01-10 00:13:16', '2025-01-06 20:28:34'),
(59, 8, 'How to Look at Your Own Pictures', 'The darkroom is two square meters, and one of them is the boiler. People relax once you lower the camera; the picture is made right after that. I went back the next morning for the same picture, and of course it was gone.

The shutter stuck at a thirtieth, so for a month everything I took was at a thirtieth. A light leak ruined four frames and made the fifth. One roll left in the fridge, behind the butter.', 'published', NULL, 0, '{"words":79,"cover":null,"license":"all rights reserved"}', '2025-01-16 10:46:15', '2025-01-12 13:51:35'),
(60, 13, 'Notes in the Margin, by Strangers', 'Our book club has one rule, and it is that nobody has to finish. Giving up is a skill, and I learned it too late. A translation is a long series of small losses, arranged so that they do not show.

The dictionary offered nine meanings and the author had found a tenth. The joke depends on a word for a kind of bread, so I changed the bread. Read it slowly, or not at all.', 'published', NULL, 0, '{"words":76,"cover":{"file":"covers/060.jpg","width":1200},"license":"CC-BY-4.0"}', '2025-01-21 12:28:04', '2025-01-18 17:39:29'),
(61, 10, 'A Schema Change in Four Small Steps', 'The dashboard was green. The phone was ringing. One of them was wrong. One composite index, in the right order, and the graph fell off a cliff in the good direction. We restored the backup on a Wednesday afternoon, just to see, and it took three attempts.

An offset of fifty thousand means that the first fifty thousand rows are read and thrown away. Try the restore. Really. Today, if you can.', 'published', 3.0, 0, NULL, '2025-01-26 21:18:10', '2025-01-23 10:56:59'),
(62, 13, 'The Novel I Read Three Times by Accident', 'There is a sentence on page forty that I have translated eleven times. In the second half the weather becomes a character, and a better one than the husband. The older translation is more beautiful, the newer one is more true, and I would not lend out either.

I read the difficult page aloud, and it turned out to be a song. Giving up is a skill, and I learned it too late. Read it slowly, or not at all.', 'published', NULL, 0, NULL, '2025-01-31 12:05:23', '2025-01-29 14:27:25'),
(63, 9, 'Notes from Teaching Rust to a Python Team', 'We inherited a service nobody wanted to touch, which is usually a sign that it works. The borrow checker was right, and it took me an afternoon to admit it. Half of the options had never been set by anyone, in any environment, since the first commit.

We wrote the failing case first, then argued about the fix over lunch. We kept the old version around for a month and nobody asked for it.', 'published', 4.1, 0, '{"words":74,"cover":null,"license":"CC-BY-4.0"}', '2025-02-05 02:38:03', '2025-02-04 14:23:56'),
(64, 14, 'Learning the Cello at Fifty', 'The neighbor knocked at nine, not to complain but to ask what the tune was called. My teacher says very little and always says it about the left hand. Nobody hears the bass until it stops.

The silence before the last chorus is the loudest thing in the song. We changed the key for the singer, and the guitar part finally made sense. New strings sound like somebody else''s instrument for about three days.

The dead keys turned out to be dust and one very old coin. If you are in town, come by. Bring a chair.', 'archived', 4.6, 0, '{"words":97,"cover":null,"license":"CC-BY-4.0"}', '2025-02-11 00:52:49', '2025-02-10 21:56:18'),
(65, 3, 'Pruning the Old Apple Without Tears', 'Nothing I planted in March is where I planted it. If the heap smells, it wants paper. If it does nothing at all, it wants grass. Bees prefer the weeds along the fence to anything I have paid for.

Most plants die of kindness, usually in the form of water. For now the bed is empty, raked, and full of plans.', 'published', NULL, 0, '{"words":61,"cover":null,"license":"CC-BY-4.0"}', '2025-02-17 06:48:55', '2025-02-16 19:05:58'),
(66, 11, 'A Beginner''s Guide to Turning Back', 'Nobody had signed the book in the hut for nine days. Every hour we stopped for five minutes, and nobody was tired at the end. Somebody had left a thermos of coffee on the bench with a note that said ''help yourself''.

The path climbs through larches, loses itself in a bog, and finds you again on the other side. The stream was higher than the guidebook had led us to believe, and a good deal colder. From the saddle you can see three valleys and, on a clear day, the sea.

Go in September if you can. The huts are quiet and the blueberries are free.', 'published', NULL, 0, '{"words":107,"cover":{"file":"covers/066.jpg","width":1200},"license":"CC-BY-4.0"}', '2025-02-22 09:21:36', '2025-02-21 17:36:27'),
(67, 15, 'Why Your Brakes Squeal', 'It was hanging in the barn behind a ladder, under twenty years of swallows. Turn the nipple a quarter, spin the wheel, look, and do it again. There is no faster way. Drivers see what moves, so a reflector on the pedal does more than a third lamp.

Cold air needs a lower pressure and a better breakfast. Nobody has ever come into the shop too early. The tools for all of this fit into an old sock.', 'published', 4.9, 0, '{"words":78,"cover":null,"license":"CC-BY-4.0"}', '2025-02-28 03:47:44', '2025-02-27 17:11:40'),
(68, 17, 'Contact Sheets Tell the Truth', 'The roll had been in a coat pocket since the spring before last. Delete the sharp ones in which nothing happens. A light leak ruined four frames and made the fifth.

I went back the next morning for the same picture, and of course it was gone. The best frame on the sheet is usually the one before the one I remember. On the night train I braced the camera against the window and counted to eight.

With thirty-six frames you look twice before you press, and often you do not press at all. The print hangs in the hallway, slightly crooked, as it should.', 'published', 4.2, 0, '{"words":105,"cover":null,"license":"all rights reserved"}', '2025-03-08 02:02:31', '2025-03-05 19:44:52'),
(69, 17, 'Salt, Time and Other Free Ingredients', 'I did not set out to write about bread again, but the kitchen had other plans. Write the times down. Memory improves every loaf by about half an hour. I used to knead until my shoulders hurt. Now I fold every half hour and read in between.

A cast-iron pot with a lid holds more steam than anything I have ever rigged up with trays and ice. Whole grain drinks more water than you expect, and it drinks it slowly. If yours turns out differently, tell me what flour you used; I am collecting answers.', 'published', 4.5, 0, NULL, '2025-03-14 04:10:44', '2025-03-11 07:12:51'),
(70, 20, 'Behind the Wallpaper', 'The house is a hundred and thirty years old and has an opinion on everything. The screws were slotted, brass, and tighter than anything made since. Bleed the radiators from the bottom of the house to the top, and keep a cup at hand.

Water travels along a beam until it finds a place where you have just painted. Turn the power off at the board, then check anyway, then check with the other tester. Nine coats of paint came off the door, and the fourth was a very good green.

Measure the corner at three heights, since it will be a different corner each time. The shelf is crooked, the corner is crooked, and together they look straight.', 'published', 4.1, 0, '{"words":119,"cover":null,"license":"CC-BY-4.0"}', '2025-03-20 00:56:47', '2025-03-17 13:58:09'),
(71, 8, 'Compost Is a Slow Conversation', 'My neighbor gardens by the moon, I garden by the weekend, and our beans look exactly the same. I stopped digging the beds three years ago. The worms have taken it over, and they do it better. Sow half of the packet now and the other half in two weeks; one of them will meet the right weather.

If the heap smells, it wants paper. If it does nothing at all, it wants grass. The beans climbed the drainpipe instead of the poles, and I let them. The slugs come out at ten in the evening, and since June so do I, with a torch.

The kitchen smells of dill, and that is my whole report.', 'published', 3.6, 0, NULL, '2025-03-26 11:33:07', '2025-03-22 13:42:36'),
(72, 5, 'Errors Are Part of the Interface', 'Here is something I got wrong for a long time and would like to save you from. We wrote the failing case first, then argued about the fix over lunch. Once the inputs were random, the bug took eleven seconds to find.

A function that needs a comment to say what it returns needs a better name instead. The patch was nine lines long. The explanation took two pages.', 'archived', NULL, 0, '{"words":69,"cover":null,"license":"CC-BY-4.0"}', '2025-03-29 17:48:58', '2025-03-28 14:35:40'),
(73, 19, 'A Library Card at Forty', 'I bought it for the cover, forgot it for six years, and read it in one night. A translation is a long series of small losses, arranged so that they do not show. I read the difficult page aloud, and it turned out to be a song.

You can skip the battle. The kitchen scene afterwards is what the book is about. It smells of smoke and somebody else''s summer. We met in the back room, eight of us and two copies.

If you find my pencil marks one day, feel free to argue.', 'published', 4.6, 0, '{"words":94,"cover":null,"license":"CC-BY-4.0"}', '2025-04-07 07:23:28', '2025-04-03 20:38:40'),
(74, 16, 'Living Without a Kitchen for Six Weeks', 'The estate agent called it charming, which I now know is a measurement. Measure the corner at three heights, since it will be a different corner each time. Lime sets when it wants to, so we made a lot of soup that month.

A sharp chisel is the only safe one, and it takes six minutes at the kitchen table. We found a child''s shoe, a newspaper from 1911 and a perfectly good hammer. The plasterer watched me for ten minutes and then showed me how to hold the trowel.

Bleed the radiators from the bottom of the house to the top, and keep a cup at hand. It closes now, with one finger, and I show it to every guest.', 'published', NULL, 0, NULL, '2025-04-09 23:51:13', '2025-04-09 12:33:18'),
(75, 11, 'Photographing Fog', 'She said yes before I had finished the question, and then I forgot to focus. People relax once you lower the camera; the picture is made right after that. I went back the next morning for the same picture, and of course it was gone.

The shutter stuck at a thirtieth, so for a month everything I took was at a thirtieth. Red light, the smell of fixer, and a face that comes up out of nothing: it does not get old. Delete the sharp ones in which nothing happens.

Wet asphalt is a second sky, if you get low enough and do not mind your knees. Look at it again in a year. That is the whole method.', 'archived', 4.9, 0, NULL, '2025-04-16 15:53:42', '2025-04-15 08:07:19'),
(76, 7, 'The Overnight Focaccia I Keep Coming Back To', 'There is a moment, about an hour in, when a dough stops being a mess and starts being bread. My starter lives at the back of the fridge between bakes and has forgiven me for far worse than a missed feeding. I mix in the evening, fold it twice before bed, and let the cold do the rest.

I used to knead until my shoulders hurt. Now I fold every half hour and read in between. A pinch of sugar will not speed it up, but a warm bowl will. The scale cost less than a bag of good flour and has improved my bread more than any book.

If yours turns out differently, tell me what flour you used; I am collecting answers.', 'draft', NULL, 0, '{"words":124,"cover":{"file":"covers/076.jpg","width":2400},"license":"all rights reserved"}', NULL, '2025-04-20 09:14:59'),
(77, 2, 'The Index We Should Have Had', 'A database will do exactly what you ask, which is the trouble. The column allowed NULL because nobody had decided. Undecided is also a decision. We restored the backup on a Wednesday afternoon, just to see, and it took three attempts.

Measure it with real data; a hundred rows are always fast. Long transactions are like long meetings: everyone behind you is waiting. The fix was a single line. Finding it was the job.', 'published', 3.6, 0, '{"words":74,"cover":{"file":"covers/077.jpg","width":1200},"license":"all rights reserved"}', '2025-04-28 00:26:55', '2025-04-26 15:08:44'),
(78, 4, 'Six Trails You Can Reach by Train', 'My knees asked for an easier route this year, and I am glad that I listened. Every hour we stopped for five minutes, and nobody was tired at the end. The descent is steeper than it looks; keep the poles and forget the photographs.

Turning back cost us the summit and gave us a long lunch by the lake. Above the tree line the wind does the talking, so we walked without a word for an hour. Two socks, one spare shirt, more food than you think: that is the whole list.

I carry a paper map because it has never run out of battery at the worst moment. I would do it again tomorrow, only with a second pair of gloves.', 'draft', NULL, 0, '{"words":122,"cover":{"file":"covers/078.jpg","width":2400},"license":"CC-BY-4.0"}', NULL, '2025-05-02 14:10:55'),
(79, 15, 'Six Hundred Kilometers, Nine Punctures', 'It was hanging in the barn behind a ladder, under twenty years of swallows. Drivers see what moves, so a reflector on the pedal does more than a third lamp. Cold air needs a lower pressure and a better breakfast.

Turn the nipple a quarter, spin the wheel, look, and do it again. There is no faster way. We stopped at every bakery, which is why the average speed will not be published here. It rolls without a sound now. I miss the noise a little.', 'published', NULL, 0, NULL, '2025-05-11 01:27:32', '2025-05-08 09:36:38'),
(80, 19, 'Restringing, Retuning, Regretting', 'Some songs arrive in an afternoon. This one took from February to November. Twenty minutes each day beat three hours on Sunday, and the family prefers it too. The dead keys turned out to be dust and one very old coin.

I record every rehearsal on my phone and listen on the tram, wincing. My teacher says very little and always says it about the left hand. Half of the arrangement is deciding who does not play.

The second voice is harder than the first, since the tune keeps pulling at your sleeve. The recording is rough, and I have decided to keep it that way.', 'published', 3.5, 1, '{"words":106,"cover":null,"license":"CC-BY-4.0"}', '2025-05-17 04:58:43', '2025-05-14 21:24:44'),
(81, 18, 'How We Write Changelogs People Read', 'It began, as these things do, with a test that was marked as flaky and left alone. Half of the options had never been set by anyone, in any environment, since the first commit. We wrote the failing case first, then argued about the fix over lunch.

We agreed on one rule: a test may be slow or it may be unclear, but never both. The patch was nine lines long. The explanation took two pages.', 'draft', NULL, 0, '{"words":76,"cover":{"file":"covers/081.jpg","width":2400},"license":"CC-BY-4.0"}', NULL, '2025-05-19 11:51:01'),
(82, 17, 'Baking Through a Heat Wave', 'There is a moment, about an hour in, when a dough stops being a mess and starts being bread. Let it cool. I know. Let it cool anyway. Whole grain drinks more water than you expect, and it drinks it slowly.

If your kitchen is below twenty degrees, add an hour. If it is above twenty-six, take one away and keep watching. I used to knead until my shoulders hurt. Now I fold every half hour and read in between. My starter lives at the back of the fridge between bakes and has forgiven me for far worse than a missed feeding.

The dough should feel like an earlobe after the third fold; if it feels like soup, give it another rest before you add flour. Next week I will try the same thing with spelt and probably regret it.', 'published', 2.5, 0, '{"words":140,"cover":{"file":"covers/082.jpg","width":2400},"license":"all rights reserved"}', '2025-05-27 10:00:27', '2025-05-25 15:20:13'),
(83, 15, 'What Comes Through the Workshop Door', 'We left at six with full bottles, dry socks and a plan. By noon only the bottles were left. The ninth puncture was a thorn from the same hedge as the first. Wipe the chain, oil it, wait a minute, and wipe it again; the second wipe is the one that people skip.

Check the seat post before the price: if it is stuck, keep walking. Cold air needs a lower pressure and a better breakfast. I carry two tubes, a patch kit for when those are gone, and a banknote that has patched a tire twice.

Same time next year, with wider tires.', 'published', 3.0, 0, NULL, '2025-06-02 02:36:38', '2025-05-31 09:25:42'),
(84, 19, 'Rehearsal Notes from a Cold Garage', 'I bought it for forty euros with two dead keys and a smell of cellar. The silence before the last chorus is the loudest thing in the song. The dead keys turned out to be dust and one very old coin.

New strings sound like somebody else''s instrument for about three days. Play it at half the speed until it becomes boring, then a little slower. Nobody hears the bass until it stops.

The recording is rough, and I have decided to keep it that way.', 'published', 4.5, 1, NULL, '2025-06-09 09:06:53', '2025-06-06 10:40:22'),
(85, 17, 'A Roll of Film I Forgot in Lisbon', 'She said yes before I had finished the question, and then I forgot to focus. With thirty-six frames you look twice before you press, and often you do not press at all. I went back the next morning for the same picture, and of course it was gone.

Red light, the smell of fixer, and a face that comes up out of nothing: it does not get old. I print small, at the size of a postcard, and hold it in my hand for a week. Wet asphalt is a second sky, if you get low enough and do not mind your knees.

Tomorrow I will leave the camera at home, and regret it by ten.', 'published', 4.7, 0, NULL, '2025-06-16 12:19:20', '2025-06-12 16:35:52'),
(86, 11, 'What I Carry and What I Stopped Carrying', 'Nobody had signed the book in the hut for nine days. Somebody had left a thermos of coffee on the bench with a note that said ''help yourself''. Two socks, one spare shirt, more food than you think: that is the whole list.

Above the tree line the wind does the talking, so we walked without a word for an hour. I would do it again tomorrow, only with a second pair of gloves.', 'archived', 3.4, 0, NULL, '2025-06-18 06:09:46', '2025-06-17 17:41:03'),
(87, 3, 'Potatoes in Bags: an Honest Tally', 'It rained for three weeks, then not at all for five. Bees prefer the weeds along the fence to anything I have paid for. If the heap smells, it wants paper. If it does nothing at all, it wants grass.

The frost came on the nineteenth of May, a week after everyone had agreed that it would not. I stopped digging the beds three years ago. The worms have taken it over, and they do it better. We ate the first bowl standing up, still warm from the sun.', 'published', 4.7, 0, '{"words":89,"cover":null,"license":"CC-BY-4.0"}', '2025-06-26 08:11:40', '2025-06-23 12:00:49'),
(88, 13, 'Giving Up on Page Ninety', 'The previous owner argued with the author in pencil, and mostly won. You can skip the battle. The kitchen scene afterwards is what the book is about. Some chapters are slow because somebody in them is waiting.

In the second half the weather becomes a character, and a better one than the husband. The dictionary offered nine meanings and the author had found a tenth. I read the difficult page aloud, and it turned out to be a song.

Read it slowly, or not at all.', 'published', NULL, 0, '{"words":86,"cover":null,"license":"all rights reserved"}', '2025-06-30 08:34:12', '2025-06-29 09:42:33'),
(89, 18, 'SQLite Is Enough More Often Than You Think', 'I keep a list of queries that surprised me. This is number thirty-one. The planner read four million rows to return twelve, because nothing told it not to. The column allowed NULL because nobody had decided. Undecided is also a decision.

Long transactions are like long meetings: everyone behind you is waiting. Try the restore. Really. Today, if you can.', 'published', 2.5, 0, '{"words":60,"cover":{"file":"covers/089.jpg","width":2400},"license":"CC-BY-4.0"}', '2025-07-06 14:28:02', '2025-07-05 20:07:15'),
(90, 20, 'Draughts, Candles and a Long Evening', 'Under the carpet there was linoleum, under the linoleum newspaper, and under the newspaper a floor. Measure the corner at three heights, since it will be a different corner each time. Lime sets when it wants to, so we made a lot of soup that month.

The plasterer watched me for ten minutes and then showed me how to hold the trowel. Nine coats of paint came off the door, and the fourth was a very good green. The shelf is crooked, the corner is crooked, and together they look straight.', 'published', 3.7, 0, NULL, '2025-07-11 13:34:00', '2025-07-11 10:46:05'),
(91, 10, 'What a Transaction Promises You', 'A database will do exactly what you ask, which is the trouble. Long transactions are like long meetings: everyone behind you is waiting. The estimate was off by a factor of nine hundred, since the statistics were from last spring.

Keep the last key you have seen and ask for what comes after it; the order must be total, so add the id. I am still not sure why it ever worked before.', 'published', 3.2, 0, NULL, '2025-07-19 08:46:56', '2025-07-16 18:20:58'),
(92, 14, 'How to Practice for Twenty Minutes', 'We rehearse on Thursdays in a garage that belongs to the drummer''s aunt. Twenty minutes each day beat three hours on Sunday, and the family prefers it too. Nobody hears the bass until it stops.

I record every rehearsal on my phone and listen on the tram, wincing. Half of the arrangement is deciding who does not play. The silence before the last chorus is the loudest thing in the song.

We changed the key for the singer, and the guitar part finally made sense. The recording is rough, and I have decided to keep it that way.', 'archived', 4.8, 0, '{"words":98,"cover":{"file":"covers/092.jpg","width":2400},"license":"all rights reserved"}', '2025-07-24 06:31:43', '2025-07-22 07:10:32'),
(93, 19, 'Books My Mother Underlined', 'I bought it for the cover, forgot it for six years, and read it in one night. In the second half the weather becomes a character, and a better one than the husband. Giving up is a skill, and I learned it too late.

We met in the back room, eight of us and two copies. It smells of smoke and somebody else''s summer. The dictionary offered nine meanings and the author had found a tenth.

The word is still missing. I have learned to walk around it.', 'published', 5.0, 0, NULL, '2025-07-28 19:07:11', '2025-07-28 11:57:21'),
(94, 16, 'How to Sharpen a Chisel at the Kitchen Table', 'Under the carpet there was linoleum, under the linoleum newspaper, and under the newspaper a floor. Dust gets into the butter. There is no seal against it. Bleed the radiators from the bottom of the house to the top, and keep a cup at hand.

The screws were slotted, brass, and tighter than anything made since. I walked through the rooms with a candle, and it went out in all of the places I had feared. It closes now, with one finger, and I show it to every guest.', 'draft', NULL, 0, '{"words":89,"cover":{"file":"covers/094.jpg","width":1200},"license":"CC-BY-4.0"}', NULL, '2025-08-03 06:43:53'),
(95, 3, 'Tomatoes on a North-Facing Balcony', 'I found last year''s notebook under a pot. It explains a great deal. If the heap smells, it wants paper. If it does nothing at all, it wants grass. The frost came on the nineteenth of May, a week after everyone had agreed that it would not.

A handful of the old compost in every new pot seems to help, though I could not prove it. Most plants die of kindness, usually in the form of water. There are seeds left over; write to me and I will put some in an envelope.', 'published', 3.8, 0, '{"words":93,"cover":{"file":"covers/095.jpg","width":1600},"license":"all rights reserved"}', '2025-08-12 11:10:13', '2025-08-09 20:37:05'),
(96, 11, 'On Walking Slowly', 'There are faster ways up this hill, and I have come to dislike all of them. The stream was higher than the guidebook had led us to believe, and a good deal colder. From the saddle you can see three valleys and, on a clear day, the sea.

Above the tree line the wind does the talking, so we walked without a word for an hour. The path climbs through larches, loses itself in a bog, and finds you again on the other side. Somebody had left a thermos of coffee on the bench with a note that said ''help yourself''.

Go in September if you can. The huts are quiet and the blueberries are free.', 'published', 3.9, 0, '{"words":116,"cover":{"file":"covers/096.jpg","width":1600},"license":"all rights reserved"}', '2025-08-16 22:14:18', '2025-08-14 07:15:09'),
(97, 18, 'What I Look For in a Code Review', 'Here is something I got wrong for a long time and would like to save you from. We wrote the failing case first, then argued about the fix over lunch. A function that needs a comment to say what it returns needs a better name instead.

Half of the options had never been set by anyone, in any environment, since the first commit. The type made the wrong state impossible, and half of the checks simply went away. Caching would have hidden the problem for another month.

Nobody reads the third paragraph of an error message, so put the remedy in the first line. If you do one thing this week, go and read the oldest ignored test you have.', 'published', 2.7, 0, NULL, '2025-08-21 02:56:32', '2025-08-20 11:44:57'),
(98, 15, 'Riding the Canal from End to End', 'Most repairs begin with cleaning, and a good number of them end there. Cold air needs a lower pressure and a better breakfast. Turn the nipple a quarter, spin the wheel, look, and do it again. There is no faster way.

Drivers see what moves, so a reflector on the pedal does more than a third lamp. I carry two tubes, a patch kit for when those are gone, and a banknote that has patched a tire twice. The ninth puncture was a thorn from the same hedge as the first.

Nobody has ever come into the shop too early. Ride it once around the block before you thank me.', 'published', 3.0, 0, '{"words":110,"cover":null,"license":"all rights reserved"}', '2025-08-28 12:13:31', '2025-08-26 09:49:10'),
(99, 17, 'What a Cheap Oven Taught Me About Steam', 'I did not set out to write about bread again, but the kitchen had other plans. Most recipes hide the real instruction in the photograph: look at the edges, not at the clock. Whole grain drinks more water than you expect, and it drinks it slowly.

I mix in the evening, fold it twice before bed, and let the cold do the rest. If yours turns out differently, tell me what flour you used; I am collecting answers.', 'published', 4.1, 0, NULL, '2025-09-02 14:04:37', '2025-09-01 20:07:29'),
(100, 11, 'Light Leaks I Have Loved', 'It rained all day, which is to say that the light was perfect. I went back the next morning for the same picture, and of course it was gone. I print small, at the size of a postcard, and hold it in my hand for a week.

Meter for the shadows, forgive the highlights, and write down what you did. One roll left in the fridge, behind the butter.', 'published', 3.8, 0, NULL, '2025-09-07 23:10:40', '2025-09-07 21:23:53'),
(101, 18, 'The Test That Failed Only on Tuesdays', 'I have been writing Rust for six years and still delete more than I add on a good day. Nobody reads the third paragraph of an error message, so put the remedy in the first line. The profiler pointed at a place none of us had guessed, as it always does.

We agreed on one rule: a test may be slow or it may be unclear, but never both. We wrote the failing case first, then argued about the fix over lunch. It is not clever, and I hope that it stays that way.', 'published', 3.6, 0, '{"words":94,"cover":{"file":"covers/101.jpg","width":1200},"license":"CC-BY-4.0"}', '2025-09-15 17:23:31', '2025-09-12 19:23:09'),
(102, 6, 'Reading Aloud to Someone Who Is Ill', 'There is a sentence on page forty that I have translated eleven times. The librarian did not recommend anything. She asked what I had last enjoyed, and waited. It smells of smoke and somebody else''s summer.

The dictionary offered nine meanings and the author had found a tenth. A translation is a long series of small losses, arranged so that they do not show. I have put it back on the shelf, spine out, for the next bad winter.', 'published', 4.2, 0, NULL, '2025-09-20 10:44:24', '2025-09-18 06:06:53'),
(103, 20, 'Seedlings on Every Windowsill', 'It rained for three weeks, then not at all for five. The frost came on the nineteenth of May, a week after everyone had agreed that it would not. I leave a corner alone, and that corner is always the liveliest.

Label everything. You will not remember which squash it was. For now the bed is empty, raked, and full of plans.', 'published', NULL, 0, '{"words":62,"cover":null,"license":"all rights reserved"}', '2025-09-27 18:53:34', '2025-09-24 11:48:14'),
(104, 12, 'Winter Tires and Winter Moods', 'There is a headwind on the way to work and, by some law of nature, another on the way home. The frame is heavier than anything you could buy today, and it will be here when those are gone. Wipe the chain, oil it, wait a minute, and wipe it again; the second wipe is the one that people skip.

A squeal is nearly always grease where there should be none. Ride it once around the block before you thank me.', 'archived', 3.3, 0, '{"words":81,"cover":{"file":"covers/104.jpg","width":2400},"license":"CC-BY-4.0"}', '2025-10-01 15:30:38', '2025-09-30 15:35:57'),
(105, 1, 'A Week of Bread from a Single Starter', 'For years I blamed the flour. It was never the flour. A pinch of sugar will not speed it up, but a warm bowl will. If your kitchen is below twenty degrees, add an hour. If it is above twenty-six, take one away and keep watching.

Let it cool. I know. Let it cool anyway. Next week I will try the same thing with spelt and probably regret it.', 'published', 3.3, 1, '{"words":69,"cover":{"file":"covers/105.jpg","width":1200},"license":"all rights reserved"}', '2025-10-08 17:14:11', '2025-10-06 15:25:35'),
(106, 16, 'Painting a Room in the Wrong Order', 'The estate agent called it charming, which I now know is a measurement. Measure the corner at three heights, since it will be a different corner each time. The plasterer watched me for ten minutes and then showed me how to hold the trowel.

Turn the power off at the board, then check anyway, then check with the other tester. It closes now, with one finger, and I show it to every guest.', 'published', 3.3, 0, '{"words":73,"cover":{"file":"covers/106.jpg","width":1200},"license":"all rights reserved"}', '2025-10-14 11:20:18', '2025-10-11 12:57:45'),
(107, 17, 'The Street After Rain', 'It rained all day, which is to say that the light was perfect. With thirty-six frames you look twice before you press, and often you do not press at all. Red light, the smell of fixer, and a face that comes up out of nothing: it does not get old.

Wet asphalt is a second sky, if you get low enough and do not mind your knees. Delete the sharp ones in which nothing happens. The print hangs in the hallway, slightly crooked, as it should.', 'draft', NULL, 0, '{"words":86,"cover":{"file":"covers/107.jpg","width":2400},"license":"CC-BY-4.0"}', NULL, '2025-10-17 06:23:11'),
(108, 11, 'Tea at Two Thousand Meters', 'Nobody had signed the book in the hut for nine days. Somebody had left a thermos of coffee on the bench with a note that said ''help yourself''. A stranger pointed at the clouds, shook his head, and we took his advice.

From the saddle you can see three valleys and, on a clear day, the sea. We counted fourteen ibex and exactly one other person. Turning back cost us the summit and gave us a long lunch by the lake.

Every hour we stopped for five minutes, and nobody was tired at the end. Go in September if you can. The huts are quiet and the blueberries are free.', 'published', 4.6, 0, '{"words":110,"cover":{"file":"covers/108.jpg","width":2400},"license":"all rights reserved"}', '2025-10-23 17:35:01', '2025-10-23 08:49:12'),
(109, 6, 'The Song We Could Not Finish', 'There were nine people in the room, and four of them were family. Twenty minutes each day beat three hours on Sunday, and the family prefers it too. The dead keys turned out to be dust and one very old coin.

We changed the key for the singer, and the guitar part finally made sense. Play it at half the speed until it becomes boring, then a little slower. The second voice is harder than the first, since the tune keeps pulling at your sleeve.

We will play it again on Thursday, a little slower.', 'published', NULL, 0, '{"words":95,"cover":null,"license":"CC-BY-4.0"}', '2025-10-30 09:34:05', '2025-10-29 12:52:49'),
(110, 10, 'Why Our Migration Ran for Eleven Hours', 'We had a rule against premature optimization and no rule for when it stops being premature. The planner read four million rows to return twelve, because nothing told it not to. Long transactions are like long meetings: everyone behind you is waiting.

Measure it with real data; a hundred rows are always fast. Do it in steps that can each be undone: add, copy, switch, remove. I am still not sure why it ever worked before.', 'published', NULL, 0, '{"words":76,"cover":{"file":"covers/110.jpg","width":1200},"license":"all rights reserved"}', '2025-11-06 18:37:38', '2025-11-04 08:10:53'),
(111, 17, 'Notes on Old Flour', 'I did not set out to write about bread again, but the kitchen had other plans. A pinch of sugar will not speed it up, but a warm bowl will. I used to knead until my shoulders hurt. Now I fold every half hour and read in between.

If your kitchen is below twenty degrees, add an hour. If it is above twenty-six, take one away and keep watching. The dough should feel like an earlobe after the third fold; if it feels like soup, give it another rest before you add flour. None of this is difficult. It only takes longer than we would like.', 'draft', NULL, 0, '{"words":106,"cover":{"file":"covers/111.jpg","width":2400},"license":"all rights reserved"}', NULL, '2025-11-09 06:54:29'),
(112, 11, 'Night Trains, Slow Shutter', 'It rained all day, which is to say that the light was perfect. People relax once you lower the camera; the picture is made right after that. Red light, the smell of fixer, and a face that comes up out of nothing: it does not get old.

Wet asphalt is a second sky, if you get low enough and do not mind your knees. One roll left in the fridge, behind the butter.', 'published', NULL, 0, NULL, '2025-11-17 10:02:55', '2025-11-15 20:50:17'),
(113, 19, 'The Untranslatable Word Is Usually Fine', 'Our book club has one rule, and it is that nobody has to finish. Some chapters are slow because somebody in them is waiting. The older translation is more beautiful, the newer one is more true, and I would not lend out either.

We met in the back room, eight of us and two copies. The word is still missing. I have learned to walk around it.', 'published', 5.0, 0, NULL, '2025-11-23 22:59:10', '2025-11-21 11:13:48'),
(114, 8, 'What the Bees Ignored This Year', 'The garden is four meters by six, and I have managed to get lost in it. Bees prefer the weeds along the fence to anything I have paid for. The beans climbed the drainpipe instead of the poles, and I let them.

The frost came on the nineteenth of May, a week after everyone had agreed that it would not. Sow half of the packet now and the other half in two weeks; one of them will meet the right weather. A handful of the old compost in every new pot seems to help, though I could not prove it.

The kitchen smells of dill, and that is my whole report.', 'published', 4.5, 0, NULL, '2025-12-01 12:29:28', '2025-11-27 13:30:00'),
(115, 18, 'Lifetimes, Explained to My Past Self', 'It began, as these things do, with a test that was marked as flaky and left alone. We agreed on one rule: a test may be slow or it may be unclear, but never both. I like code that I can read out loud without stopping to explain.

Caching would have hidden the problem for another month. We wrote the failing case first, then argued about the fix over lunch. If you do one thing this week, go and read the oldest ignored test you have.', 'archived', 4.3, 0, '{"words":86,"cover":{"file":"covers/115.jpg","width":2400},"license":"all rights reserved"}', '2025-12-07 15:12:21', '2025-12-03 15:37:13'),
(116, 14, 'A Field Recording of the Market at Dawn', 'We rehearse on Thursdays in a garage that belongs to the drummer''s aunt. The dead keys turned out to be dust and one very old coin. We changed the key for the singer, and the guitar part finally made sense.

Half of the arrangement is deciding who does not play. Twenty minutes each day beat three hours on Sunday, and the family prefers it too. I record every rehearsal on my phone and listen on the tram, wincing.

A metronome does not judge you. It only waits, at seventy-two beats a minute. The neighbor has asked for an encore.', 'draft', NULL, 0, '{"words":99,"cover":{"file":"covers/116.jpg","width":2400},"license":"all rights reserved"}', NULL, '2025-12-08 15:47:26'),
(117, 1, 'Hiring Help and Learning from It', 'It dripped for two years before it dripped on me. A sharp chisel is the only safe one, and it takes six minutes at the kitchen table. Measure the corner at three heights, since it will be a different corner each time.

The screws were slotted, brass, and tighter than anything made since. Lime sets when it wants to, so we made a lot of soup that month. If you know what the third switch does, please write.', 'draft', NULL, 0, '{"words":78,"cover":{"file":"covers/117.jpg","width":1200},"license":"CC-BY-4.0"}', NULL, '2025-12-14 18:04:13'),
(118, 2, 'Soft Deletes, Hard Questions', 'A database will do exactly what you ask, which is the trouble. Measure it with real data; a hundred rows are always fast. Long transactions are like long meetings: everyone behind you is waiting.

The estimate was off by a factor of nine hundred, since the statistics were from last spring. The fix was a single line. Finding it was the job.', 'published', 3.1, 0, '{"words":62,"cover":{"file":"covers/118.jpg","width":2400},"license":"all rights reserved"}', '2025-12-23 23:52:18', '2025-12-20 19:59:47'),
(119, 15, 'Lights You Can Be Seen By', 'We left at six with full bottles, dry socks and a plan. By noon only the bottles were left. We stopped at every bakery, which is why the average speed will not be published here. The ninth puncture was a thorn from the same hedge as the first.

Wipe the chain, oil it, wait a minute, and wipe it again; the second wipe is the one that people skip. The towpath is flat, shaded and full of herons who do not move for anybody. Turn the nipple a quarter, spin the wheel, look, and do it again. There is no faster way.

The tools for all of this fit into an old sock.', 'published', NULL, 1, NULL, '2025-12-29 03:27:46', '2025-12-26 13:14:18'),
(120, 15, 'The Hut Warden Who Knew Everyone''s Name', 'We missed the bus by a minute, so the walk became four kilometers longer. The path climbs through larches, loses itself in a bog, and finds you again on the other side. I carry a paper map because it has never run out of battery at the worst moment.

The descent is steeper than it looks; keep the poles and forget the photographs. From the saddle you can see three valleys and, on a clear day, the sea. A stranger pointed at the clouds, shook his head, and we took his advice.

Go in September if you can. The huts are quiet and the blueberries are free.', 'published', 2.5, 0, '{"words":107,"cover":null,"license":"all rights reserved"}', '2026-01-02 21:20:31', '2026-01-01 13:47:22'),
(121, 4, 'A Night in the Bothy', 'There are faster ways up this hill, and I have come to dislike all of them. From the saddle you can see three valleys and, on a clear day, the sea. The descent is steeper than it looks; keep the poles and forget the photographs.

Above the tree line the wind does the talking, so we walked without a word for an hour. If you take this route, say hello to the warden from me.', 'published', 4.0, 0, NULL, '2026-01-07 18:21:26', '2026-01-06 14:50:06'),
(122, 11, 'Printing Small', 'I gave myself one lens and one year, and broke the rule in week three. Meter for the shadows, forgive the highlights, and write down what you did. I went back the next morning for the same picture, and of course it was gone.

On the night train I braced the camera against the window and counted to eight. Red light, the smell of fixer, and a face that comes up out of nothing: it does not get old. Wet asphalt is a second sky, if you get low enough and do not mind your knees.

Tomorrow I will leave the camera at home, and regret it by ten.', 'archived', 3.7, 0, '{"words":109,"cover":{"file":"covers/122.jpg","width":1600},"license":"CC-BY-4.0"}', '2026-01-16 03:55:52', '2026-01-12 06:21:07'),
(123, 19, 'Our First Concert Had Nine Guests', 'For most of my life I believed that practice meant playing the piece from beginning to end. The dead keys turned out to be dust and one very old coin. Half of the arrangement is deciding who does not play.

My teacher says very little and always says it about the left hand. Nobody hears the bass until it stops. The second voice is harder than the first, since the tune keeps pulling at your sleeve.

The silence before the last chorus is the loudest thing in the song. The neighbor has asked for an encore.', 'published', NULL, 0, '{"words":96,"cover":{"file":"covers/123.jpg","width":1600},"license":"all rights reserved"}', '2026-01-19 21:30:29', '2026-01-18 18:14:44'),
(124, 6, 'The Secondhand Shop on Mill Street', 'Our book club has one rule, and it is that nobody has to finish. I read the difficult page aloud, and it turned out to be a song. We met in the back room, eight of us and two copies.

The librarian did not recommend anything. She asked what I had last enjoyed, and waited. You can skip the battle. The kitchen scene afterwards is what the book is about. I have put it back on the shelf, spine out, for the next bad winter.', 'draft', NULL, 0, '{"words":85,"cover":{"file":"covers/124.jpg","width":2400},"license":"CC-BY-4.0"}', NULL, '2026-01-24 12:21:55'),
(125, 7, 'A Sourdough Starter That Survives Holidays', 'I did not set out to write about bread again, but the kitchen had other plans. Write the times down. Memory improves every loaf by about half an hour. Let it cool. I know. Let it cool anyway.

I used to knead until my shoulders hurt. Now I fold every half hour and read in between. The scale cost less than a bag of good flour and has improved my bread more than any book. Tomorrow there will be toast, and that is reason enough.', 'published', 3.7, 0, '{"words":85,"cover":{"file":"covers/125.jpg","width":1600},"license":"all rights reserved"}', '2026-02-02 02:57:53', '2026-01-30 06:52:07'),
(126, 4, 'Truing a Wheel with Two Zip Ties', 'It was hanging in the barn behind a ladder, under twenty years of swallows. Wipe the chain, oil it, wait a minute, and wipe it again; the second wipe is the one that people skip. The frame is heavier than anything you could buy today, and it will be here when those are gone.

I carry two tubes, a patch kit for when those are gone, and a banknote that has patched a tire twice. It rolls without a sound now. I miss the noise a little.', 'archived', 4.5, 0, NULL, '2026-02-07 16:40:35', '2026-02-04 12:42:55'),
(127, 10, 'NULL Is Not a Value, and Other Family Arguments', 'We had a rule against premature optimization and no rule for when it stops being premature. The column allowed NULL because nobody had decided. Undecided is also a decision. An offset of fifty thousand means that the first fifty thousand rows are read and thrown away.

We store times in UTC now and no longer discuss it. We restored the backup on a Wednesday afternoon, just to see, and it took three attempts. Measure it with real data; a hundred rows are always fast.

One composite index, in the right order, and the graph fell off a cliff in the good direction. Try the restore. Really. Today, if you can.', 'published', 4.5, 0, '{"words":110,"cover":{"file":"covers/127.jpg","width":1600},"license":"CC-BY-4.0"}', '2026-02-14 04:10:23', '2026-02-10 10:33:58'),
(128, 9, 'A Small Parser Is a Friendly Thing', 'Here is something I got wrong for a long time and would like to save you from. The type made the wrong state impossible, and half of the checks simply went away. I like code that I can read out loud without stopping to explain.

Once the inputs were random, the bug took eleven seconds to find. Half of the options had never been set by anyone, in any environment, since the first commit. We agreed on one rule: a test may be slow or it may be unclear, but never both.

We kept the old version around for a month and nobody asked for it.', 'published', NULL, 0, '{"words":106,"cover":null,"license":"all rights reserved"}', '2026-02-18 11:23:21', '2026-02-16 11:29:35'),
(129, 16, 'Before You Call the Electrician', 'The house is a hundred and thirty years old and has an opinion on everything. The plasterer watched me for ten minutes and then showed me how to hold the trowel. Bleed the radiators from the bottom of the house to the top, and keep a cup at hand.

Turn the power off at the board, then check anyway, then check with the other tester. The shelf is crooked, the corner is crooked, and together they look straight.', 'draft', NULL, 0, NULL, NULL, '2026-02-22 10:17:50'),
(130, 8, 'Saving Seed from the Best Bean', 'The garden is four meters by six, and I have managed to get lost in it. A handful of the old compost in every new pot seems to help, though I could not prove it. Most plants die of kindness, usually in the form of water.

I leave a corner alone, and that corner is always the liveliest. Sow half of the packet now and the other half in two weeks; one of them will meet the right weather. There are seeds left over; write to me and I will put some in an envelope.', 'published', 3.1, 1, NULL, '2026-03-04 10:08:28', '2026-02-28 17:27:53'),
(131, 20, 'A Hedge for Birds', 'Nothing I planted in March is where I planted it. A thick layer of straw did more than the hose ever has. Bees prefer the weeds along the fence to anything I have paid for.

If the heap smells, it wants paper. If it does nothing at all, it wants grass. Label everything. You will not remember which squash it was. I stopped digging the beds three years ago. The worms have taken it over, and they do it better.

We ate the first bowl standing up, still warm from the sun.', 'published', 3.5, 0, '{"words":92,"cover":{"file":"covers/131.jpg","width":1200},"license":"all rights reserved"}', '2026-03-05 23:04:41', '2026-03-05 08:28:11'),
(132, 10, 'The Day the Sequence Ran Out', 'Nobody had looked at this table since the person who designed it left. The planner read four million rows to return twelve, because nothing told it not to. One composite index, in the right order, and the graph fell off a cliff in the good direction.

The column allowed NULL because nobody had decided. Undecided is also a decision. A constraint in the schema outlives every validation in the code. Do it in steps that can each be undone: add, copy, switch, remove.

It has been quiet since, which is the nicest thing one can say about a database.', 'published', 4.2, 0, '{"words":99,"cover":{"file":"covers/132.jpg","width":2400},"license":"CC-BY-4.0"}', '2026-03-14 07:27:03', '2026-03-11 13:32:19'),
(133, 11, 'The Bridge That Was Not There Anymore', 'The forecast promised sun from ten o''clock. By eleven we were sharing one dry jacket. From the saddle you can see three valleys and, on a clear day, the sea. The stream was higher than the guidebook had led us to believe, and a good deal colder.

A stranger pointed at the clouds, shook his head, and we took his advice. The path climbs through larches, loses itself in a bog, and finds you again on the other side. If you take this route, say hello to the warden from me.', 'archived', NULL, 0, '{"words":91,"cover":null,"license":"all rights reserved"}', '2026-03-18 03:16:34', '2026-03-17 21:17:54'),
(134, 1, 'One Drawer, Four Kinds of Screws', 'We only wanted to change a light bulb. Water travels along a beam until it finds a place where you have just painted. Nine coats of paint came off the door, and the fourth was a very good green.

A sharp chisel is the only safe one, and it takes six minutes at the kitchen table. Dust gets into the butter. There is no seal against it. Turn the power off at the board, then check anyway, then check with the other tester.

Measure the corner at three heights, since it will be a different corner each time. If you know what the third switch does, please write.', 'published', 3.1, 0, NULL, '2026-03-26 22:59:03', '2026-03-23 10:37:16'),
(135, 11, 'Leaving the Camera at Home', 'Fog makes everybody a good photographer for about forty minutes. The shutter stuck at a thirtieth, so for a month everything I took was at a thirtieth. People relax once you lower the camera; the picture is made right after that.

A light leak ruined four frames and made the fifth. Red light, the smell of fixer, and a face that comes up out of nothing: it does not get old. Tomorrow I will leave the camera at home, and regret it by ten.', 'published', 3.0, 0, '{"words":84,"cover":{"file":"covers/135.jpg","width":1600},"license":"all rights reserved"}', '2026-03-31 09:29:02', '2026-03-29 08:04:48'),
(136, 19, 'The Bass Line Nobody Notices', 'For most of my life I believed that practice meant playing the piece from beginning to end. The silence before the last chorus is the loudest thing in the song. The dead keys turned out to be dust and one very old coin.

Half of the arrangement is deciding who does not play. Twenty minutes each day beat three hours on Sunday, and the family prefers it too. My teacher says very little and always says it about the left hand.

We will play it again on Thursday, a little slower.', 'published', NULL, 0, NULL, '2026-04-05 21:17:56', '2026-04-03 11:54:28'),
(137, 12, 'Panniers, Rucksack or Crate?', 'The bicycle came into the shop with a note that said ''makes a noise''. Cold air needs a lower pressure and a better breakfast. Wipe the chain, oil it, wait a minute, and wipe it again; the second wipe is the one that people skip.

The ninth puncture was a thorn from the same hedge as the first. Ride it once around the block before you thank me.', 'draft', NULL, 0, NULL, NULL, '2026-04-09 15:34:54'),
(138, 19, 'How to Run a Book Club Without Homework', 'The previous owner argued with the author in pencil, and mostly won. You can skip the battle. The kitchen scene afterwards is what the book is about. We met in the back room, eight of us and two copies.

In the second half the weather becomes a character, and a better one than the husband. It smells of smoke and somebody else''s summer. Next month: something short, with a map in the front.', 'published', 2.6, 0, '{"words":73,"cover":{"file":"covers/138.jpg","width":2400},"license":"all rights reserved"}', '2026-04-15 21:35:23', '2026-04-15 09:13:10'),
(139, 5, 'Timeouts, Retries and the Storm They Caused', 'A colleague asked me why the code was so plain. I took it as a compliment. Every retry policy is a load test that you have not run yet. A function that needs a comment to say what it returns needs a better name instead.

Caching would have hidden the problem for another month. The profiler pointed at a place none of us had guessed, as it always does. We kept the old version around for a month and nobody asked for it.', 'published', NULL, 0, '{"words":83,"cover":null,"license":"CC-BY-4.0"}', '2026-04-24 01:14:48', '2026-04-21 20:33:34'),
(140, 1, 'How to Feed Twelve People with One Dough', 'My oven is twelve years old, runs thirty degrees hot on the left, and I would not trade it. My starter lives at the back of the fridge between bakes and has forgiven me for far worse than a missed feeding. If your kitchen is below twenty degrees, add an hour. If it is above twenty-six, take one away and keep watching.

Write the times down. Memory improves every loaf by about half an hour. Most recipes hide the real instruction in the photograph: look at the edges, not at the clock. Whole grain drinks more water than you expect, and it drinks it slowly.

If yours turns out differently, tell me what flour you used; I am collecting answers.', 'published', 3.9, 0, NULL, '2026-04-30 09:08:33', '2026-04-27 15:36:40'),
(141, 4, 'How to Read Contour Lines Before Breakfast', 'Nobody had signed the book in the hut for nine days. Two socks, one spare shirt, more food than you think: that is the whole list. Above the tree line the wind does the talking, so we walked without a word for an hour.

Every hour we stopped for five minutes, and nobody was tired at the end. Somebody had left a thermos of coffee on the bench with a note that said ''help yourself''. If you take this route, say hello to the warden from me.', 'published', 4.7, 1, NULL, '2026-05-04 18:07:23', '2026-05-02 19:00:47'),
(142, 19, 'Two Translations, One Winter', 'There is a sentence on page forty that I have translated eleven times. It smells of smoke and somebody else''s summer. The dictionary offered nine meanings and the author had found a tenth.

In the second half the weather becomes a character, and a better one than the husband. Some chapters are slow because somebody in them is waiting. You can skip the battle. The kitchen scene afterwards is what the book is about.

We met in the back room, eight of us and two copies. Read it slowly, or not at all.', 'published', 4.4, 0, '{"words":93,"cover":{"file":"covers/142.jpg","width":1600},"license":"all rights reserved"}', '2026-05-11 19:35:58', '2026-05-08 20:43:13'),
(143, 15, 'The Hill Behind the Bakery', 'Most repairs begin with cleaning, and a good number of them end there. Nobody has ever come into the shop too early. A squeal is nearly always grease where there should be none.

Cold air needs a lower pressure and a better breakfast. We stopped at every bakery, which is why the average speed will not be published here. Check the seat post before the price: if it is stuck, keep walking.

The frame is heavier than anything you could buy today, and it will be here when those are gone. The tools for all of this fit into an old sock.', 'published', 3.9, 0, NULL, '2026-05-16 20:59:38', '2026-05-14 17:53:17'),
(144, 7, 'Pretzels Without Fear of Lye', 'Someone asked me at the market how I find the time. The honest answer is that dough does not need me for most of the day. I used to knead until my shoulders hurt. Now I fold every half hour and read in between. My starter lives at the back of the fridge between bakes and has forgiven me for far worse than a missed feeding.

The scale cost less than a bag of good flour and has improved my bread more than any book. The recipe fits on an index card, and the card is already stained. That is how I know it works.', 'published', NULL, 0, NULL, '2026-05-20 19:01:51', '2026-05-20 10:39:15'),
(145, 3, 'My Soil Test and Other Bad News', 'The garden is four meters by six, and I have managed to get lost in it. I leave a corner alone, and that corner is always the liveliest. I stopped digging the beds three years ago. The worms have taken it over, and they do it better.

Sow half of the packet now and the other half in two weeks; one of them will meet the right weather. Bees prefer the weeds along the fence to anything I have paid for. The frost came on the nineteenth of May, a week after everyone had agreed that it would not.

Next year I will do everything differently, exactly as I said last year.', 'published', 2.9, 0, '{"words":112,"cover":{"file":"covers/145.jpg","width":1600},"license":"CC-BY-4.0"}', '2026-05-26 18:22:24', '2026-05-26 14:05:21'),
(146, 16, 'The Leak Was Never Where the Stain Was', 'Under the carpet there was linoleum, under the linoleum newspaper, and under the newspaper a floor. A sharp chisel is the only safe one, and it takes six minutes at the kitchen table. I walked through the rooms with a candle, and it went out in all of the places I had feared.

Nine coats of paint came off the door, and the fourth was a very good green. Dust gets into the butter. There is no seal against it. Water travels along a beam until it finds a place where you have just painted.

We put everything back under the floor, with a note of our own.', 'published', 4.0, 0, '{"words":108,"cover":null,"license":"CC-BY-4.0"}', '2026-06-02 16:05:02', '2026-05-31 18:18:43'),
(147, 10, 'One Slow Query, Five Wrong Guesses', 'Nobody had looked at this table since the person who designed it left. A constraint in the schema outlives every validation in the code. Do it in steps that can each be undone: add, copy, switch, remove.

An offset of fifty thousand means that the first fifty thousand rows are read and thrown away. I am still not sure why it ever worked before.', 'published', 4.3, 0, '{"words":64,"cover":null,"license":"all rights reserved"}', '2026-06-09 20:43:31', '2026-06-06 10:23:18'),
(148, 14, 'The Drummer Was Right', 'The neighbor knocked at nine, not to complain but to ask what the tune was called. The second voice is harder than the first, since the tune keeps pulling at your sleeve. My teacher says very little and always says it about the left hand.

We changed the key for the singer, and the guitar part finally made sense. The neighbor has asked for an encore.', 'draft', NULL, 0, NULL, NULL, '2026-06-12 06:23:15'),
(149, 18, 'In Praise of the Boring Enum', 'I have been writing Rust for six years and still delete more than I add on a good day. The borrow checker was right, and it took me an afternoon to admit it. Every retry policy is a load test that you have not run yet.

We agreed on one rule: a test may be slow or it may be unclear, but never both. A function that needs a comment to say what it returns needs a better name instead. It is not clever, and I hope that it stays that way.', 'published', 4.3, 0, '{"words":92,"cover":{"file":"covers/149.jpg","width":1200},"license":"all rights reserved"}', '2026-06-19 21:46:49', '2026-06-18 10:09:59'),
(150, 8, 'What I Delete', 'Fog makes everybody a good photographer for about forty minutes. Meter for the shadows, forgive the highlights, and write down what you did. I print small, at the size of a postcard, and hold it in my hand for a week.

The shutter stuck at a thirtieth, so for a month everything I took was at a thirtieth. The print hangs in the hallway, slightly crooked, as it should.', 'published', 4.2, 0, NULL, '2026-06-24 23:11:51', '2026-06-24 15:14:46');

INSERT INTO post_tags (post_id, tag_id) VALUES
(1, 12),
(1, 15),
(1, 20),
(2, 5),
(2, 20),
(3, 9),
(3, 11),
(3, 12),
(3, 18),
(4, 3),
(4, 18),
(4, 20),
(5, 13),
(6, 6),
(6, 7),
(6, 8),
(6, 18),
(6, 20),
(7, 9),
(7, 19),
(7, 20),
(8, 1),
(8, 20),
(9, 9),
(9, 12),
(9, 16),
(9, 18),
(10, 3),
(10, 17),
(10, 19),
(11, 12),
(11, 17),
(11, 19),
(12, 1),
(12, 2),
(13, 6),
(13, 7),
(13, 8),
(13, 20),
(14, 3),
(14, 4),
(14, 19),
(15, 13),
(16, 12),
(16, 15),
(16, 18),
(16, 19),
(16, 20),
(17, 5),
(17, 18),
(17, 20),
(18, 9),
(18, 10),
(19, 11),
(19, 12),
(19, 18),
(19, 19),
(20, 16),
(20, 19),
(20, 20),
(21, 3),
(21, 4),
(21, 17),
(22, 1),
(22, 18),
(23, 5),
(23, 18),
(23, 19),
(23, 20),
(24, 16),
(24, 19),
(24, 20),
(25, 11),
(26, 13),
(26, 17),
(26, 18),
(26, 19),
(26, 20),
(27, 15),
(27, 18),
(27, 20),
(28, 7),
(28, 19),
(29, 3),
(29, 17),
(29, 18),
(29, 19),
(30, 9),
(30, 18),
(30, 20),
(31, 15),
(31, 17),
(31, 19),
(32, 16),
(32, 18),
(33, 5),
(33, 7),
(33, 18),
(33, 19),
(34, 9),
(34, 10),
(34, 18),
(35, 11),
(36, 6),
(36, 7),
(36, 8),
(36, 19),
(36, 20),
(37, 3),
(37, 17),
(37, 19),
(38, 17),
(38, 19),
(39, 13),
(39, 14),
(39, 17),
(39, 18),
(40, 1),
(40, 18),
(40, 19),
(41, 12),
(41, 15),
(41, 20),
(42, 3),
(42, 4),
(43, 12),
(43, 17),
(43, 18),
(43, 19),
(44, 1),
(44, 2),
(44, 18),
(45, 5),
(46, 7),
(46, 8),
(46, 18),
(46, 19),
(46, 20),
(47, 9),
(47, 10),
(47, 20),
(48, 11),
(48, 19),
(49, 9),
(49, 16),
(49, 18),
(49, 19),
(50, 13),
(50, 17),
(50, 19),
(51, 9),
(51, 18),
(51, 19),
(52, 1),
(52, 2),
(53, 12),
(53, 17),
(53, 18),
(53, 19),
(54, 5),
(54, 7),
(54, 19),
(55, 7),
(56, 9),
(56, 11),
(56, 12),
(56, 18),
(56, 19),
(57, 15),
(57, 17),
(57, 19),
(58, 3),
(58, 18),
(59, 16),
(59, 18),
(59, 19),
(59, 20),
(60, 13),
(60, 14),
(60, 20),
(61, 6),
(61, 7),
(61, 19),
(62, 13),
(62, 18),
(63, 5),
(63, 7),
(63, 18),
(63, 20),
(64, 15),
(64, 19),
(64, 20),
(65, 3),
(66, 9),
(66, 16),
(66, 18),
(66, 19),
(66, 20),
(67, 11),
(67, 18),
(67, 19),
(68, 16),
(68, 20),
(69, 1),
(69, 18),
(69, 19),
(69, 20),
(70, 12),
(70, 17),
(70, 19),
(71, 3),
(71, 4),
(71, 18),
(72, 5),
(72, 18),
(73, 13),
(73, 17),
(73, 19),
(73, 20),
(74, 12),
(74, 17),
(74, 18),
(75, 16),
(76, 1),
(76, 2),
(76, 17),
(76, 18),
(76, 19),
(77, 6),
(77, 7),
(77, 20),
(78, 9),
(78, 16),
(79, 11),
(79, 18),
(79, 19),
(79, 20),
(80, 12),
(80, 15),
(80, 19),
(81, 5),
(81, 7),
(81, 18),
(82, 1),
(82, 17),
(83, 11),
(83, 12),
(83, 18),
(83, 20),
(84, 12),
(84, 15),
(84, 17),
(85, 16),
(86, 9),
(86, 10),
(86, 16),
(86, 18),
(86, 20),
(87, 3),
(87, 4),
(87, 17),
(88, 13),
(88, 18),
(89, 6),
(89, 7),
(89, 18),
(89, 19),
(90, 17),
(90, 18),
(90, 20),
(91, 7),
(91, 18),
(91, 19),
(92, 15),
(92, 20),
(93, 13),
(93, 17),
(93, 18),
(93, 20),
(94, 12),
(94, 17),
(94, 19),
(95, 3),
(96, 9),
(96, 10),
(96, 18),
(96, 19),
(96, 20),
(97, 5),
(97, 19),
(97, 20),
(98, 11),
(98, 20),
(99, 1),
(99, 18),
(99, 19),
(99, 20),
(100, 16),
(100, 18),
(100, 20),
(101, 5),
(101, 6),
(101, 20),
(102, 13),
(102, 19),
(103, 3),
(103, 18),
(103, 19),
(103, 20),
(104, 11),
(104, 12),
(104, 19),
(105, 1),
(106, 3),
(106, 12),
(106, 17),
(106, 19),
(106, 20),
(107, 12),
(107, 16),
(107, 20),
(108, 9),
(108, 20),
(109, 15),
(109, 17),
(109, 18),
(109, 20),
(110, 7),
(110, 19),
(110, 20),
(111, 1),
(111, 17),
(111, 20),
(112, 16),
(112, 18),
(113, 13),
(113, 14),
(113, 17),
(113, 18),
(114, 3),
(114, 19),
(114, 20),
(115, 5),
(116, 12),
(116, 15),
(116, 17),
(116, 19),
(116, 20),
(117, 17),
(117, 19),
(117, 20),
(118, 6),
(118, 7),
(119, 11),
(119, 12),
(119, 19),
(119, 20),
(120, 9),
(120, 10),
(120, 19),
(121, 9),
(121, 18),
(121, 19),
(122, 16),
(122, 19),
(123, 12),
(123, 15),
(123, 17),
(123, 20),
(124, 13),
(124, 18),
(124, 19),
(125, 1),
(126, 11),
(126, 12),
(126, 18),
(126, 19),
(126, 20),
(127, 6),
(127, 7),
(127, 19),
(128, 5),
(128, 18),
(129, 3),
(129, 12),
(129, 17),
(129, 18),
(130, 3),
(130, 4),
(130, 17),
(131, 3),
(131, 17),
(131, 20),
(132, 7),
(132, 18),
(133, 9),
(133, 16),
(133, 18),
(133, 19),
(134, 17),
(134, 18),
(134, 19),
(135, 16),
(136, 12),
(136, 15),
(136, 17),
(136, 18),
(136, 20),
(137, 11),
(137, 12),
(137, 18),
(138, 13),
(138, 17),
(139, 5),
(139, 7),
(139, 18),
(139, 19),
(140, 1),
(140, 17),
(140, 18),
(141, 9),
(141, 18),
(141, 19),
(142, 13),
(142, 17),
(143, 11),
(143, 12),
(143, 18),
(143, 19),
(144, 1),
(144, 17),
(144, 18),
(145, 3),
(146, 3),
(146, 17),
(146, 18),
(146, 19),
(146, 20),
(147, 6),
(147, 7),
(147, 19),
(148, 15),
(148, 18),
(149, 5),
(149, 6),
(149, 18),
(149, 19),
(150, 9),
(150, 12),
(150, 16);

INSERT INTO comments (id, post_id, author_id, body, created_at) VALUES
(1, 1, 17, 'Came for the title, stayed for the details.', '2024-02-15 23:27:01'),
(2, 1, 5, 'I hummed the second voice all day and now my office hates me.', '2024-02-22 00:41:15'),
(3, 3, 20, 'I bought one with a stuck seat post. It is still stuck.', '2024-02-29 17:55:49'),
(4, 3, 1, 'Which tires do you ride in winter?', '2024-03-01 00:15:01'),
(5, 3, 9, 'The second wipe! I never knew. My chain says thank you.', '2024-03-01 08:52:58'),
(6, 4, 10, 'I came here by accident and stayed for an hour.', '2024-03-02 20:32:12'),
(7, 3, 11, 'We rode the canal in spring, the herons really do not move.', '2024-03-05 19:37:25'),
(8, 3, 16, 'So relatable. Reading this with a cup of tea was the best ten minutes of my day.', '2024-03-07 09:57:09'),
(9, 3, 11, 'Thanks for this. Do you have a source for that? I would like to read on.', '2024-03-07 16:49:15'),
(10, 3, 10, 'My father would have loved this one.', '2024-03-10 05:40:26'),
(11, 4, 13, 'Thank you for writing it down. We do it the other way round, and it works too. There is probably a lesson in that.', '2024-03-10 10:00:36'),
(12, 3, 7, 'Very well put. So simple that I am slightly annoyed.', '2024-03-12 17:40:30'),
(13, 6, 13, 'I printed the bit about steps that can be undone.', '2024-03-13 02:53:22'),
(14, 4, 14, 'Long-time reader, first comment. My compost does nothing at all. Off to find some grass.', '2024-03-14 05:12:27'),
(15, 4, 3, 'So relatable. Labels! Every year I think that I will remember.', '2024-03-14 19:11:00'),
(16, 6, 12, 'A friend recommended your post, and now I understand why. No rush, of course.', '2024-03-25 03:57:07'),
(17, 5, 8, 'Changing the bread is exactly the right answer.', '2024-03-27 17:28:53'),
(18, 6, 20, 'A sequence that ran out! I thought that only happened in interviews.', '2024-03-29 16:10:12'),
(19, 10, 6, 'Lovely post. What grit do you finish the chisel on?', '2024-04-08 03:38:01'),
(20, 10, 11, 'Slotted brass screws are worth keeping, a restorer paid for mine. Anyway, keep going!', '2024-04-08 12:36:30'),
(21, 10, 12, 'I did something similar in 2019 and still have not recovered.', '2024-04-14 01:39:29'),
(22, 13, 6, 'How large is the table now? Curious where the limit is. 😄', '2024-04-27 23:48:06'),
(23, 13, 21, 'This happened to us at 2 a.m. and I felt every sentence.', '2024-04-29 03:15:02'),
(24, 14, 12, 'Oh, this is good. We do it the other way round, and it works too. There is probably a lesson in that.', '2024-04-29 22:31:34'),
(25, 13, 8, 'Oh, this is good. Coming back to say: it worked!', '2024-05-04 07:59:20'),
(26, 16, 10, 'I have been putting this off for months. You have talked me into it.', '2024-05-09 13:40:53'),
(27, 13, 20, 'My father would have loved this one. No rush, of course.', '2024-05-10 00:57:43'),
(28, 17, 23, 'Yes, exactly. We had the same flaky test for a year. It was the time zone. It is always the time zone.', '2024-05-17 22:11:29'),
(29, 17, 16, 'Small typo in the third sentence, otherwise perfect.', '2024-05-21 19:33:51'),
(30, 14, 17, 'I grew the same variety and got three tomatoes. Three. 🙏', '2024-05-22 01:47:47'),
(31, 16, 22, 'Is the recording somewhere to listen to?', '2024-05-24 21:44:11'),
(32, 17, 10, 'This should be required reading before anyone adds another retry.', '2024-05-28 10:45:22'),
(33, 19, 2, 'So relatable. Your shop fixed my brakes last year and they are still silent.', '2024-05-31 02:54:27'),
(34, 20, 3, 'Do you have a source for that? I would like to read on.', '2024-06-01 17:59:23'),
(35, 21, 23, 'I grew the same variety and got three tomatoes. Three.', '2024-06-07 03:23:39'),
(36, 20, 24, 'The frame before the one I remember: I checked, and it is true. Curious what the others think.', '2024-06-17 11:41:49'),
(37, 20, 21, 'Delete the sharp ones in which nothing happens. Ouch. Fair. Anyway, keep going!', '2024-06-19 02:49:08'),
(38, 20, 5, 'So simple that I am slightly annoyed.', '2024-06-28 04:57:44'),
(39, 23, 2, 'How did you convince the team to delete it? Mine keeps everything just in case.', '2024-07-01 21:40:00'),
(40, 24, 24, 'Week three! I lasted until week five.', '2024-07-13 02:30:16'),
(41, 32, 2, 'How do you scan the contact sheets?', '2024-08-09 19:09:13'),
(42, 31, 23, 'This made me take the guitar out of its case.', '2024-08-09 19:32:14'),
(43, 31, 25, 'Thank you for writing it down. I am going to print this and pin it above the desk.', '2024-08-09 21:24:34'),
(44, 31, 18, 'I would come, and I would bring a chair.', '2024-08-10 04:37:30'),
(45, 32, 9, 'Rain is the best light, and nobody tells you about the socks. Say hello to the cat.', '2024-08-12 01:26:51'),
(46, 32, 17, 'My experience was different, but then I started later than you did.', '2024-08-15 14:30:14'),
(47, 33, 25, 'Hm, interesting. Which library do you use for the property tests? 😄', '2024-08-18 12:55:29'),
(48, 33, 17, 'Strong disagree on comments, but the rest is spot on.', '2024-08-18 22:09:38'),
(49, 33, 18, 'The ending got me.', '2024-08-19 06:08:14'),
(50, 31, 22, 'More of this, please, and more often. Have a good weekend, everyone.', '2024-08-24 10:04:58'),
(51, 32, 9, 'I have been putting this off for months. You have talked me into it.', '2024-08-24 13:28:06'),
(52, 31, 4, 'Thanks for this. How cold was the garage? Ours does terrible things to the tuning.', '2024-08-25 18:16:02'),
(53, 32, 23, 'Wonderful. Please write more about portraits, I always freeze. Have a good weekend, everyone.', '2024-08-30 01:33:14'),
(54, 35, 18, 'So relatable. A banknote as a tire boot saved my holiday once. 🚲', '2024-08-30 03:18:51'),
(55, 35, 2, 'I am going to print this and pin it above the desk.', '2024-08-31 00:12:46'),
(56, 35, 19, 'Good to see somebody write about what did not work.', '2024-09-01 11:29:34'),
(57, 33, 3, 'How did you convince the team to delete it? Mine keeps everything just in case. Looking forward to the next one.', '2024-09-03 05:19:41'),
(58, 35, 8, 'What would you do differently, if you had to start over?', '2024-09-04 13:15:02'),
(59, 35, 19, 'Yes, exactly. We rode the canal in spring, the herons really do not move.', '2024-09-04 23:32:18'),
(60, 35, 20, 'Your shop fixed my brakes last year and they are still silent.', '2024-09-04 23:56:38'),
(61, 33, 22, 'My experience was different, but then I started later than you did. Merci!', '2024-09-05 05:43:07'),
(62, 35, 24, 'More of this, please, and more often.', '2024-09-07 06:31:44'),
(63, 35, 11, 'I bought one with a stuck seat post. It is still stuck. 🙏', '2024-09-07 23:01:00'),
(64, 36, 16, 'A sequence that ran out! I thought that only happened in interviews. No rush, of course.', '2024-09-10 22:58:38'),
(65, 38, 21, 'Our third switch turned out to be the neighbor''s garden light.', '2024-09-13 10:08:28'),
(66, 38, 20, 'Ha! Ours is only ninety years old and already twice as stubborn.', '2024-09-16 09:54:29'),
(67, 39, 13, 'I cried at the last paragraph, on a tram, in front of a school class.', '2024-09-23 21:55:05'),
(68, 38, 1, 'Lovely post. I am going to print this and pin it above the desk.', '2024-10-03 03:13:43'),
(69, 38, 6, 'Lovely post. More of this, please, and more often.', '2024-10-05 03:22:54'),
(70, 41, 17, 'Which strings did you settle on in the end? 🙏', '2024-10-07 02:19:43'),
(71, 41, 3, 'Oh, this is good. The drummer is always right. Do not tell him. No rush, of course.', '2024-10-08 00:00:34'),
(72, 41, 11, 'The bit about patience is the part that everybody needs and nobody wants.', '2024-10-12 11:22:43'),
(73, 42, 15, 'Oh, this is good. How deep is the straw? I am always afraid of mice.', '2024-10-12 11:54:28'),
(74, 42, 26, 'The ending got me. Merci!', '2024-10-15 20:30:22'),
(75, 43, 6, 'Our third switch turned out to be the neighbor''s garden light.', '2024-10-16 22:09:54'),
(76, 42, 22, 'I grew the same variety and got three tomatoes. Three.', '2024-10-17 22:27:12'),
(77, 42, 7, 'Yes, exactly. Labels! Every year I think that I will remember.', '2024-10-20 03:07:13'),
(78, 42, 12, 'Lovely post. You make it sound easier than it is, and I mean that kindly.', '2024-10-20 08:10:42'),
(79, 42, 1, 'Slugs do not cross copper tape, they say. Mine have not read that. Anyway, keep going!', '2024-10-21 03:39:54'),
(80, 42, 14, 'My experience was different, but then I started later than you did.', '2024-10-21 21:24:09'),
(81, 42, 5, 'If you still have seeds, I would gladly take a few! Anyway, keep going!', '2024-10-22 00:16:45'),
(82, 44, 18, 'Wonderful. My family finished the loaf before I could take a picture. 🍞', '2024-10-22 01:03:45'),
(83, 43, 18, 'Yes, exactly. The leak is never where the stain is. We opened the wrong ceiling twice.', '2024-10-22 05:21:14'),
(84, 43, 8, 'I came here by accident and stayed for an hour.', '2024-10-24 13:06:57'),
(85, 42, 14, 'Yes, exactly. My compost does nothing at all. Off to find some grass.', '2024-10-25 20:13:58'),
(86, 42, 9, 'Saved for the weekend. Greetings from a rainy Porto.', '2024-10-26 01:44:57'),
(87, 45, 26, 'Yes, exactly. What would you do differently, if you had to start over? Greetings from a rainy Porto.', '2024-10-26 13:21:42'),
(88, 45, 1, 'Wonderful. Came for the title, stayed for the details. Just my two cents.', '2024-10-26 23:59:25'),
(89, 45, 19, 'This should be required reading before anyone adds another retry.', '2024-10-28 06:26:19'),
(90, 45, 10, 'How did you convince the team to delete it? Mine keeps everything just in case.', '2024-10-28 14:04:01'),
(91, 44, 18, 'Not sure that I agree, but you made me think about it on the way home.', '2024-10-29 20:15:58'),
(92, 42, 26, 'I have been putting this off for months. You have talked me into it. Will report back.', '2024-10-31 08:38:47'),
(93, 43, 10, 'Which lime did you use? The bagged one cracked on us.', '2024-10-31 23:08:39'),
(94, 45, 10, 'Thank you for writing it down. Good to see somebody write about what did not work.', '2024-11-01 01:26:24'),
(95, 42, 5, 'A bit late to this, but: Is there a picture somewhere? I would love to see it.', '2024-11-01 13:26:06'),
(96, 46, 16, 'This is the kind of post I keep the subscription for.', '2024-11-02 02:04:33'),
(97, 45, 22, 'Strong disagree on comments, but the rest is spot on.', '2024-11-02 13:38:54'),
(98, 45, 6, 'Thank you for writing it down. The line about error messages is going on our wiki. Just my two cents.', '2024-11-03 02:24:03'),
(99, 45, 11, 'My partner says that you have been spying on us. Have a good weekend, everyone.', '2024-11-04 04:13:29'),
(100, 45, 11, 'Ha! We had the same flaky test for a year. It was the time zone. It is always the time zone. Will report back.', '2024-11-05 15:41:51'),
(101, 43, 23, 'We do it the other way round, and it works too. There is probably a lesson in that. Looking forward to the next one.', '2024-11-06 08:04:34'),
(102, 45, 2, 'Lovely post. I wish somebody had told me this ten years ago.', '2024-11-11 00:59:12'),
(103, 48, 22, 'A banknote as a tire boot saved my holiday once. 🚲 Anyway, keep going!', '2024-11-16 13:26:02'),
(104, 49, 19, 'Delete the sharp ones in which nothing happens. Ouch. Fair.', '2024-11-17 16:10:19'),
(105, 48, 2, 'So relatable. We rode the canal in spring, the herons really do not move. 🙏', '2024-11-18 05:28:31'),
(106, 45, 11, 'A bit late to this, but: How long did it take you, all in all?', '2024-11-18 11:22:11'),
(107, 45, 16, 'Which library do you use for the property tests?', '2024-11-19 05:51:33'),
(108, 48, 6, 'The bit about patience is the part that everybody needs and nobody wants.', '2024-11-20 14:36:13'),
(109, 46, 12, 'Ha! This happened to us at 2 a.m. and I felt every sentence.', '2024-11-21 12:39:56'),
(110, 48, 28, 'So relatable. I did something similar in 2019 and still have not recovered. Greetings from a rainy Porto.', '2024-11-23 12:07:43'),
(111, 48, 8, 'Very well put. Reading this with a cup of tea was the best ten minutes of my day. Looking forward to the next one.', '2024-11-24 09:01:17'),
(112, 50, 27, 'Thanks for this. This is the kind of post I keep the subscription for.', '2024-11-26 08:44:21'),
(113, 51, 14, 'A bit late to this, but: Thank you for writing about turning back. It is never in the guidebooks. Greetings from a rainy Porto.', '2024-11-28 20:09:11'),
(114, 51, 20, 'I was the person who left the thermos! You are very welcome. ☕', '2024-11-29 22:24:43'),
(115, 51, 2, 'We did this one in June and the snow was still knee-deep at the saddle.', '2024-12-03 03:11:20'),
(116, 52, 19, 'The trick with the cast-iron pot changed everything for me.', '2024-12-03 23:51:45'),
(117, 50, 10, 'Wonderful. My father underlined with a red pen. I recognize this so much.', '2024-12-04 01:10:34'),
(118, 48, 26, 'Your shop fixed my brakes last year and they are still silent.', '2024-12-05 14:20:09'),
(119, 49, 13, 'I disagree with nearly all of it and enjoyed every line.', '2024-12-06 07:03:18'),
(120, 52, 18, 'How long do you leave it in the fridge at most? Mine went flat after two days.', '2024-12-06 13:48:24'),
(121, 52, 8, 'Yes, exactly. I did something similar in 2019 and still have not recovered.', '2024-12-06 19:44:50'),
(122, 52, 26, 'My starter has the same smell on day three. I always thought I had done something wrong.', '2024-12-07 04:41:12'),
(123, 51, 5, 'My father would have loved this one.', '2024-12-07 22:12:08'),
(124, 51, 15, 'Is the path marked all the way, or do you need a GPS track?', '2024-12-08 04:13:15'),
(125, 51, 19, 'So simple that I am slightly annoyed.', '2024-12-12 08:35:55'),
(126, 52, 7, 'Lovely post. Tried this at the weekend with half rye and it came out dense but very good.', '2024-12-14 03:22:11'),
(127, 50, 10, 'I read this twice and sent it to my sister.', '2024-12-14 12:16:45'),
(128, 50, 25, 'Thank you for writing it down. Could you share the list of short books?', '2024-12-14 13:05:12'),
(129, 54, 1, 'As someone who is learning Rust right now, thank you for admitting that it took an afternoon. I will try again on Sunday.', '2024-12-15 14:09:09'),
(130, 51, 29, 'Very well put. Coming back to say: it worked! 🙏', '2024-12-16 23:16:51'),
(131, 52, 5, 'Lovely post. Reading this with a cup of tea was the best ten minutes of my day.', '2024-12-23 02:10:16'),
(132, 52, 8, 'Do you have a source for that? I would like to read on.', '2024-12-24 17:18:16'),
(133, 56, 21, 'Ha! I would add a bell to the list, a loud one. Looking forward to the next one.', '2024-12-29 02:14:30'),
(134, 56, 27, 'The second wipe! I never knew. My chain says thank you.', '2024-12-31 02:44:40'),
(135, 56, 26, 'Coming back to say: it worked!', '2024-12-31 23:06:46'),
(136, 56, 30, 'Which tires do you ride in winter? I will try again on Sunday.', '2025-01-02 10:23:24'),
(137, 56, 24, 'I read this twice and sent it to my sister.', '2025-01-03 09:07:40'),
(138, 56, 22, 'Very well put. So simple that I am slightly annoyed.', '2025-01-06 11:31:24'),
(139, 56, 20, 'Ha! I bought one with a stuck seat post. It is still stuck. 😄', '2025-01-08 07:14:45'),
(140, 56, 4, 'My commute is nine kilometers and I agree with every word.', '2025-01-16 01:42:15'),
(141, 56, 28, 'So relatable. My father would have loved this one.', '2025-01-17 08:43:48'),
(142, 59, 3, 'I came here by accident and stayed for an hour.', '2025-01-22 11:53:36'),
(143, 59, 25, 'Eight seconds by hand on a train? I do not believe you, but I want to. 📷', '2025-01-25 21:28:31'),
(144, 61, 21, 'Could you write a follow-up on what happened next?', '2025-01-27 06:49:51'),
(145, 61, 4, 'I came here by accident and stayed for an hour.', '2025-01-29 20:28:18'),
(146, 60, 4, 'Thanks for this. I read this twice and sent it to my sister.', '2025-02-03 09:19:18'),
(147, 60, 18, 'Lovely post. I never finish anything before page ninety either. Solidarity.', '2025-02-05 12:08:36'),
(148, 60, 4, 'Our club has the same rule, and somehow everybody finishes.', '2025-02-05 22:06:20'),
(149, 61, 6, 'We moved from offset paging to keyset paging last month and never looked back.', '2025-02-06 01:26:56'),
(150, 63, 7, 'Very well put. As someone who is learning Rust right now, thank you for admitting that it took an afternoon.', '2025-02-07 09:22:36'),
(151, 63, 18, 'I tried it yesterday. It half worked, which is more than I had hoped for.', '2025-02-09 09:09:36'),
(152, 63, 3, 'Hm, interesting. We had the same flaky test for a year. It was the time zone. It is always the time zone. Will report back.', '2025-02-10 07:20:56'),
(153, 63, 7, 'You make it sound easier than it is, and I mean that kindly.', '2025-02-10 08:32:20'),
(154, 63, 13, 'I wish somebody had told me this ten years ago.', '2025-02-11 05:17:04'),
(155, 63, 17, 'Small typo in the third sentence, otherwise perfect.', '2025-02-11 13:53:39'),
(156, 64, 31, 'How cold was the garage? Ours does terrible things to the tuning.', '2025-02-13 00:23:11'),
(157, 63, 2, 'Came for the title, stayed for the details. Will report back.', '2025-02-13 17:45:36'),
(158, 64, 16, 'Yes, exactly. I did something similar in 2019 and still have not recovered.', '2025-02-14 10:35:05'),
(159, 63, 24, 'Nine lines! Ours was forty and a meeting.', '2025-02-14 18:31:02'),
(160, 63, 29, 'Our changelog is just commit messages. I am ashamed now.', '2025-02-16 21:47:20'),
(161, 63, 24, 'Very well put. This should be required reading before anyone adds another retry.', '2025-02-19 18:42:36'),
(162, 64, 10, 'I would come, and I would bring a chair.', '2025-02-21 12:42:14'),
(163, 61, 25, 'Did you consider a partial index? It would be smaller.', '2025-02-21 22:01:19'),
(164, 63, 24, 'Yes, exactly. How long did it take you, all in all?', '2025-02-22 04:34:40'),
(165, 63, 4, 'Is there a picture somewhere? I would love to see it.', '2025-02-22 13:47:38'),
(166, 64, 18, 'Reading this with a cup of tea was the best ten minutes of my day. 🙏', '2025-02-23 17:03:01'),
(167, 66, 30, 'Is the path marked all the way, or do you need a GPS track?', '2025-02-26 14:50:19'),
(168, 63, 10, 'Ha! Did you measure memory as well, or only time?', '2025-02-27 08:01:29'),
(169, 66, 13, 'Very well put. I was the person who left the thermos! You are very welcome. ☕', '2025-02-28 11:15:02'),
(170, 67, 8, 'The ending got me.', '2025-03-01 03:31:34'),
(171, 66, 3, 'Hm, interesting. Is there a picture somewhere? I would love to see it.', '2025-03-02 04:47:11'),
(172, 67, 8, 'My experience was different, but then I started later than you did.', '2025-03-02 07:56:43'),
(173, 63, 25, 'Would love to see the actual diff if you can share it.', '2025-03-03 04:19:35'),
(174, 66, 19, 'I have been putting this off for months. You have talked me into it. No rush, of course.', '2025-03-07 12:01:42'),
(175, 68, 4, 'I asked a stranger for the first time last week because of this post.', '2025-03-10 17:37:49'),
(176, 68, 13, 'Hm, interesting. Which film is that? The grays are lovely.', '2025-03-11 00:27:50'),
(177, 67, 31, 'Saved for the weekend. Anyway, keep going!', '2025-03-13 05:07:55'),
(178, 68, 26, 'Lovely post. Coming back to say: it worked! Have a good weekend, everyone.', '2025-03-13 23:18:29'),
(179, 66, 20, 'Thank you for writing about turning back. It is never in the guidebooks.', '2025-03-14 23:39:15'),
(180, 67, 29, 'A bit late to this, but: We rode the canal in spring, the herons really do not move.', '2025-03-15 06:21:00'),
(181, 67, 13, 'Oh, this is good. Which tires do you ride in winter? Curious what the others think.', '2025-03-17 23:13:26'),
(182, 66, 19, 'You make it sound easier than it is, and I mean that kindly.', '2025-03-20 11:56:45'),
(183, 67, 29, 'I bought one with a stuck seat post. It is still stuck. No rush, of course.', '2025-03-26 22:03:18'),
(184, 72, 3, 'I came here by accident and stayed for an hour.', '2025-04-05 16:23:43'),
(185, 69, 2, 'So relatable. I would add a little more salt, but otherwise this is exactly how my mother did it.', '2025-04-06 16:45:19'),
(186, 72, 1, 'The line about error messages is going on our wiki. 🙏', '2025-04-07 20:28:10'),
(187, 73, 23, 'Good to see somebody write about what did not work.', '2025-04-08 18:51:39'),
(188, 73, 3, 'So relatable. My partner says that you have been spying on us.', '2025-04-10 07:45:44'),
(189, 72, 12, 'We do it the other way round, and it works too. There is probably a lesson in that.', '2025-04-11 08:08:17'),
(190, 73, 22, 'Could you share the list of short books? Curious what the others think.', '2025-04-12 17:54:46'),
(191, 73, 17, 'Thanks for this. My father underlined with a red pen. I recognize this so much.', '2025-04-13 08:41:30'),
(192, 73, 14, 'What would you do differently, if you had to start over? Looking forward to the next one.', '2025-04-16 22:52:53'),
(193, 74, 14, 'Thanks for this. So simple that I am slightly annoyed.', '2025-04-17 14:27:29'),
(194, 72, 20, 'Long-time reader, first comment. I ran into this last month and solved it in a much uglier way.', '2025-04-19 17:30:34'),
(195, 72, 16, 'Which library do you use for the property tests? Looking forward to the next one.', '2025-04-19 18:57:25'),
(196, 74, 14, 'What grit do you finish the chisel on?', '2025-04-23 21:22:59'),
(197, 74, 12, 'Lovely post. Six weeks without a kitchen, and you are still married? Respect.', '2025-04-23 22:30:42'),
(198, 73, 16, 'As a librarian: yes, we wait. It always works. 📚', '2025-04-24 15:29:14'),
(199, 74, 31, 'So relatable. The candle trick works, and so does a stick of incense. 🕯️', '2025-04-25 15:54:57'),
(200, 73, 1, 'Wonderful. I cried at the last paragraph, on a tram, in front of a school class.', '2025-04-26 05:37:24'),
(201, 74, 1, 'Do you have a source for that? I would like to read on.', '2025-05-02 06:49:33'),
(202, 80, 24, 'The bit about patience is the part that everybody needs and nobody wants. Curious what the others think.', '2025-05-17 20:18:58'),
(203, 80, 18, 'I would come, and I would bring a chair.', '2025-05-26 17:08:00'),
(204, 80, 25, 'Thanks for this. This made me take the guitar out of its case.', '2025-05-29 05:46:08'),
(205, 80, 34, 'Ha! I did something similar in 2019 and still have not recovered.', '2025-05-29 15:25:19'),
(206, 80, 18, 'How cold was the garage? Ours does terrible things to the tuning.', '2025-05-29 18:14:36'),
(207, 80, 11, 'Nobody hears the bass until it stops. My whole career in one sentence.', '2025-05-30 02:08:20'),
(208, 80, 14, 'I have nothing clever to add, I only wanted to say that I liked it. Just my two cents.', '2025-05-30 03:21:56'),
(209, 83, 5, 'Reading this with a cup of tea was the best ten minutes of my day.', '2025-06-02 04:02:05'),
(210, 83, 31, 'Thanks for this. The second wipe! I never knew. My chain says thank you.', '2025-06-05 13:04:56'),
(211, 83, 27, 'Hm, interesting. I did something similar in 2019 and still have not recovered. Have a good weekend, everyone.', '2025-06-08 17:27:12'),
(212, 83, 17, 'A bit late to this, but: Which tires do you ride in winter?', '2025-06-08 21:26:52'),
(213, 83, 27, 'My commute is nine kilometers and I agree with every word. 🙏', '2025-06-12 00:06:43'),
(214, 83, 20, 'I would add a bell to the list, a loud one.', '2025-06-12 01:37:44'),
(215, 84, 1, 'We had six guests at ours, and two of them were waiting for the bus. 🎻 Merci!', '2025-06-17 18:16:04'),
(216, 85, 21, 'Which film is that? The grays are lovely. 😄', '2025-06-18 07:05:32'),
(217, 83, 34, 'The bit about patience is the part that everybody needs and nobody wants.', '2025-06-23 05:30:52'),
(218, 85, 6, 'Is there a picture somewhere? I would love to see it. No rush, of course.', '2025-06-26 23:54:05'),
(219, 88, 14, 'Changing the bread is exactly the right answer.', '2025-07-02 05:21:08'),
(220, 88, 15, 'Thank you for writing it down. Came for the title, stayed for the details.', '2025-07-04 19:12:42'),
(221, 88, 18, 'I wish somebody had told me this ten years ago. Maybe that is only me, though.', '2025-07-10 05:50:20'),
(222, 88, 35, 'Which of the two translations would you give to a first-time reader?', '2025-07-11 11:46:08'),
(223, 87, 1, 'Thank you for writing it down. No-dig saved my back, I can only recommend it. Curious what the others think.', '2025-07-13 11:19:07'),
(224, 88, 12, 'Hm, interesting. My partner says that you have been spying on us.', '2025-07-13 15:33:40'),
(225, 90, 27, 'Our third switch turned out to be the neighbor''s garden light. Say hello to the cat.', '2025-07-18 03:30:42'),
(226, 90, 32, 'The ending got me.', '2025-07-18 15:39:50'),
(227, 90, 11, 'My experience was different, but then I started later than you did. 🙏', '2025-07-19 18:56:45'),
(228, 90, 10, 'Very well put. Ours is only ninety years old and already twice as stubborn.', '2025-07-20 10:31:32'),
(229, 88, 25, 'I never finish anything before page ninety either. Solidarity. Curious what the others think.', '2025-07-20 19:02:19'),
(230, 90, 17, 'Ha! The leak is never where the stain is. We opened the wrong ceiling twice.', '2025-07-22 14:14:36'),
(231, 92, 13, 'We do it the other way round, and it works too. There is probably a lesson in that.', '2025-07-25 08:43:23'),
(232, 92, 28, 'We had six guests at ours, and two of them were waiting for the bus. 🎻', '2025-07-27 02:20:06'),
(233, 90, 13, 'I have been putting this off for months. You have talked me into it.', '2025-07-29 00:49:47'),
(234, 92, 18, 'Saved for the weekend.', '2025-07-29 05:21:32'),
(235, 93, 26, 'The margin notes are half of the reason that I buy used books. I will try again on Sunday.', '2025-07-29 18:51:51'),
(236, 93, 33, 'We tried this with the whole family. Nobody has complained yet. Greetings from a rainy Porto.', '2025-07-30 00:40:28'),
(237, 93, 34, 'I disagree with nearly all of it and enjoyed every line. Say hello to the cat.', '2025-07-30 07:59:28'),
(238, 93, 12, 'Hm, interesting. I am going to print this and pin it above the desk.', '2025-07-30 08:18:41'),
(239, 92, 24, 'Wonderful. Could you write a follow-up on what happened next? Maybe that is only me, though.', '2025-07-31 03:00:36'),
(240, 93, 28, 'Which of the two translations would you give to a first-time reader? Say hello to the cat.', '2025-07-31 06:29:59'),
(241, 92, 33, 'The drummer is always right. Do not tell him. Looking forward to the next one.', '2025-07-31 10:27:53'),
(242, 92, 27, 'I came here by accident and stayed for an hour.', '2025-07-31 12:46:30'),
(243, 93, 3, 'Oh, this is good. I never finish anything before page ninety either. Solidarity. I will try again on Sunday.', '2025-08-02 17:25:59'),
(244, 93, 27, 'Ha! What would you do differently, if you had to start over?', '2025-08-08 01:15:13'),
(245, 92, 34, 'Lovely post. Twenty minutes a day is what my teacher says as well. I manage twelve. Will report back.', '2025-08-09 22:55:15'),
(246, 93, 16, 'Our club has the same rule, and somehow everybody finishes.', '2025-08-10 12:33:51'),
(247, 95, 31, 'Ha! Good to see somebody write about what did not work. Curious what the others think.', '2025-08-12 14:09:51'),
(248, 92, 9, 'What model is the synth? It looks like the one I sold and have missed ever since.', '2025-08-12 18:35:14'),
(249, 93, 10, 'As a librarian: yes, we wait. It always works. 📚', '2025-08-13 15:28:47'),
(250, 93, 11, 'More of this, please, and more often.', '2025-08-19 08:55:43'),
(251, 95, 9, 'Wonderful. No-dig saved my back, I can only recommend it.', '2025-08-19 11:18:57'),
(252, 97, 25, 'How long did it take you, all in all?', '2025-08-23 07:15:04'),
(253, 98, 10, 'Came for the title, stayed for the details.', '2025-08-28 17:59:21'),
(254, 98, 30, 'How long did it take you, all in all?', '2025-08-31 21:16:44'),
(255, 97, 6, 'Nine lines! Ours was forty and a meeting. Greetings from a rainy Porto.', '2025-09-01 01:25:40'),
(256, 98, 16, 'I wish somebody had told me this ten years ago. Curious what the others think.', '2025-09-01 19:31:30'),
(257, 98, 8, 'Your shop fixed my brakes last year and they are still silent.', '2025-09-02 15:54:23'),
(258, 98, 18, 'How long did the repaint take, with all the waiting?', '2025-09-03 04:46:02'),
(259, 98, 28, 'Small typo in the third sentence, otherwise perfect.', '2025-09-03 05:52:21'),
(260, 98, 23, 'We rode the canal in spring, the herons really do not move.', '2025-09-05 18:48:44'),
(261, 96, 3, 'Good call on the gloves. I learned that the hard way.', '2025-09-06 02:54:47'),
(262, 97, 32, 'As someone who is learning Rust right now, thank you for admitting that it took an afternoon.', '2025-09-06 16:15:38'),
(263, 96, 24, 'Reading this with a cup of tea was the best ten minutes of my day.', '2025-09-08 15:25:12'),
(264, 98, 26, 'Zip ties worked better than the stand I had borrowed.', '2025-09-11 06:32:20'),
(265, 98, 26, 'A banknote as a tire boot saved my holiday once. 🚲 Looking forward to the next one.', '2025-09-12 07:18:23'),
(266, 101, 32, 'Nine lines! Ours was forty and a meeting.', '2025-09-17 05:18:50'),
(267, 98, 9, 'My partner says that you have been spying on us.', '2025-09-17 12:31:06'),
(268, 100, 13, 'Eight seconds by hand on a train? I do not believe you, but I want to. 📷 Anyway, keep going!', '2025-09-18 16:41:43'),
(269, 101, 23, 'Ha! More of this, please, and more often.', '2025-09-19 14:27:56'),
(270, 101, 9, 'Long-time reader, first comment. As someone who is learning Rust right now, thank you for admitting that it took an afternoon.', '2025-09-20 19:51:54'),
(271, 100, 27, 'So simple that I am slightly annoyed.', '2025-09-23 18:56:28'),
(272, 100, 36, 'So relatable. My darkroom is also mostly boiler. 😄', '2025-09-24 02:14:53'),
(273, 102, 38, 'My father underlined with a red pen. I recognize this so much. Anyway, keep going!', '2025-09-29 11:26:30'),
(274, 102, 7, 'Coming back to say: it worked!', '2025-09-30 11:34:52'),
(275, 102, 11, 'Lovely post. Could you share the list of short books?', '2025-10-01 06:37:55'),
(276, 104, 8, 'Very well put. It took me three attempts, but you were right. Curious what the others think.', '2025-10-02 00:05:46'),
(277, 104, 31, 'We tried this with the whole family. Nobody has complained yet.', '2025-10-03 12:53:55'),
(278, 104, 21, 'Very well put. I disagree with nearly all of it and enjoyed every line.', '2025-10-08 11:07:34'),
(279, 104, 31, 'My commute is nine kilometers and I agree with every word.', '2025-10-08 20:05:05'),
(280, 104, 2, 'Zip ties worked better than the stand I had borrowed. Curious what the others think.', '2025-10-08 23:28:41'),
(281, 102, 19, 'The slow chapter is the best one and I will not be argued with.', '2025-10-11 17:19:31'),
(282, 104, 17, 'Where would you send a complete beginner first?', '2025-10-11 22:59:03'),
(283, 103, 4, 'How deep is the straw? I am always afraid of mice.', '2025-10-12 01:38:49'),
(284, 102, 22, 'My father would have loved this one. Have a good weekend, everyone.', '2025-10-12 02:09:17'),
(285, 103, 36, 'My experience was different, but then I started later than you did. Maybe that is only me, though.', '2025-10-13 12:41:53'),
(286, 104, 24, 'Is the path along the lake open again after the flood? Looking forward to the next one.', '2025-10-15 23:15:49'),
(287, 104, 29, 'Wonderful. A friend recommended your post, and now I understand why. Curious what the others think.', '2025-10-16 00:20:44'),
(288, 105, 17, 'I baked this on a night shift break. Do not ask how.', '2025-10-19 12:53:41'),
(289, 104, 4, 'How long did the repaint take, with all the waiting?', '2025-10-19 19:10:35'),
(290, 104, 13, 'Hm, interesting. Average speed is overrated. Bakeries per hour is the number to watch. 😄', '2025-10-21 02:24:16'),
(291, 108, 10, 'We did this one in June and the snow was still knee-deep at the saddle.', '2025-10-26 14:59:50'),
(292, 108, 15, 'Beautiful. I have added it to a list that is already far too long.', '2025-10-27 07:34:51'),
(293, 108, 32, 'Lovely post. Do you have a source for that? I would like to read on.', '2025-10-27 13:02:03'),
(294, 104, 10, 'I would add a bell to the list, a loud one. Will report back.', '2025-10-30 00:52:50'),
(295, 109, 19, 'I did something similar in 2019 and still have not recovered.', '2025-11-02 01:39:17'),
(296, 109, 1, 'Reading this with a cup of tea was the best ten minutes of my day.', '2025-11-09 07:22:38'),
(297, 108, 19, 'Reading this with a cup of tea was the best ten minutes of my day. Greetings from a rainy Porto.', '2025-11-09 09:12:36'),
(298, 109, 34, 'The drummer is always right. Do not tell him.', '2025-11-09 18:57:10'),
(299, 109, 15, 'Which strings did you settle on in the end?', '2025-11-12 09:16:30'),
(300, 110, 16, 'Does the same plan come out on PostgreSQL?', '2025-11-13 00:34:25'),
(301, 109, 24, 'What model is the synth? It looks like the one I sold and have missed ever since.', '2025-11-17 17:10:54'),
(302, 112, 14, 'Hm, interesting. I wish somebody had told me this ten years ago. Will report back.', '2025-11-21 15:07:20'),
(303, 110, 36, 'Yes, exactly. I had to laugh at the second paragraph, because that was me last week. Just my two cents.', '2025-11-21 16:23:19'),
(304, 113, 3, 'The shop on Mill Street has moved, but the owner is as grumpy as ever.', '2025-11-24 01:11:08'),
(305, 113, 13, 'I have nothing clever to add, I only wanted to say that I liked it.', '2025-11-28 10:06:28'),
(306, 112, 30, 'Rain is the best light, and nobody tells you about the socks.', '2025-12-01 19:51:18'),
(307, 113, 6, 'Changing the bread is exactly the right answer.', '2025-12-09 06:22:20'),
(308, 114, 28, 'Coming back to say: it worked!', '2025-12-11 15:01:57'),
(309, 114, 27, 'Labels! Every year I think that I will remember. Say hello to the cat.', '2025-12-21 15:19:10'),
(310, 119, 9, 'Zip ties worked better than the stand I had borrowed. Greetings from a rainy Porto.', '2025-12-29 13:24:56'),
(311, 119, 6, 'We tried this with the whole family. Nobody has complained yet.', '2025-12-30 03:28:34'),
(312, 119, 32, 'How long did the repaint take, with all the waiting?', '2026-01-06 07:24:45'),
(313, 121, 24, 'Lovely post. Where would you send a complete beginner first?', '2026-01-08 01:52:45'),
(314, 121, 5, 'A friend recommended your post, and now I understand why.', '2026-01-09 03:21:57'),
(315, 121, 8, 'The bridge has been rebuilt since, by the way. We crossed it in May.', '2026-01-12 07:52:30'),
(316, 120, 34, 'Please do not tell everyone about the blueberries.', '2026-01-13 20:11:28'),
(317, 118, 1, 'So relatable. This happened to us at 2 a.m. and I felt every sentence. Have a good weekend, everyone.', '2026-01-18 08:57:29'),
(318, 121, 13, 'Very well put. We tried this with the whole family. Nobody has complained yet.', '2026-01-20 16:03:49'),
(319, 121, 24, 'Thank you for writing it down. It took me three attempts, but you were right.', '2026-01-21 07:45:29'),
(320, 121, 24, 'Which sheet of the map is that? I cannot find the hut on mine.', '2026-01-21 11:15:55'),
(321, 123, 32, 'Thanks for this. This is the kind of post I keep the subscription for. Maybe that is only me, though.', '2026-01-22 03:54:11'),
(322, 121, 18, 'Wonderful. Took the same train and met half the village on it.', '2026-01-23 21:00:19'),
(323, 121, 3, 'My knees send their regards to your knees.', '2026-01-26 19:33:25'),
(324, 125, 10, 'Letting it cool is the hardest step in the whole recipe.', '2026-02-03 03:12:01'),
(325, 125, 29, 'What would you do differently, if you had to start over? I will try again on Sunday.', '2026-02-03 15:17:26'),
(326, 123, 36, 'We had six guests at ours, and two of them were waiting for the bus. 🎻', '2026-02-03 19:55:04'),
(327, 125, 18, 'Does this work with gluten-free flour at all, or should I not even try?', '2026-02-05 15:34:33'),
(328, 125, 34, 'I am going to print this and pin it above the desk. Just my two cents.', '2026-02-05 16:20:28'),
(329, 123, 24, 'I read this twice and sent it to my sister. Greetings from a rainy Porto.', '2026-02-08 05:10:19'),
(330, 123, 38, 'Twenty minutes a day is what my teacher says as well. I manage twelve. Merci!', '2026-02-13 22:18:51'),
(331, 125, 23, 'Long-time reader, first comment. My family finished the loaf before I could take a picture. 🍞', '2026-02-18 05:22:50'),
(332, 131, 39, 'No-dig saved my back, I can only recommend it.', '2026-03-15 10:33:56'),
(333, 132, 12, 'How large is the table now? Curious where the limit is. I will try again on Sunday.', '2026-03-17 09:51:12'),
(334, 133, 40, 'Which sheet of the map is that? I cannot find the hut on mine.', '2026-03-18 17:50:57'),
(335, 133, 31, 'What would you do differently, if you had to start over?', '2026-03-21 14:50:17'),
(336, 133, 13, 'Could a fit ten-year-old manage this, do you think?', '2026-03-22 07:39:28'),
(337, 133, 24, 'Came for the title, stayed for the details.', '2026-03-22 21:37:45'),
(338, 133, 24, 'Good to see somebody write about what did not work.', '2026-03-25 11:05:49'),
(339, 133, 18, 'A bit late to this, but: My knees send their regards to your knees. Maybe that is only me, though.', '2026-03-25 20:19:10'),
(340, 133, 33, 'Took the same train and met half the village on it.', '2026-03-25 23:11:07'),
(341, 133, 18, 'The bridge has been rebuilt since, by the way. We crossed it in May.', '2026-03-28 09:42:12'),
(342, 135, 15, 'I tried it yesterday. It half worked, which is more than I had hoped for.', '2026-03-31 15:16:44'),
(343, 135, 38, 'Oh, this is good. I asked a stranger for the first time last week because of this post.', '2026-03-31 16:06:44'),
(344, 133, 26, 'My partner says that you have been spying on us. Just my two cents.', '2026-03-31 21:33:58'),
(345, 135, 9, 'You make it sound easier than it is, and I mean that kindly.', '2026-04-01 19:50:48'),
(346, 135, 26, 'Ha! Printing small has changed how I edit.', '2026-04-03 06:28:11'),
(347, 135, 6, 'Thanks for this. Which film is that? The grays are lovely.', '2026-04-06 15:27:18'),
(348, 135, 35, 'Delete the sharp ones in which nothing happens. Ouch. Fair.', '2026-04-07 03:41:03'),
(349, 135, 37, 'Ha! I have been putting this off for months. You have talked me into it.', '2026-04-07 06:53:45'),
(350, 136, 31, 'Wonderful. Nobody hears the bass until it stops. My whole career in one sentence. Just my two cents.', '2026-04-07 20:09:51'),
(351, 135, 8, 'My experience was different, but then I started later than you did.', '2026-04-08 13:45:19'),
(352, 135, 21, 'Ha! Found a roll in my late uncle''s camera. Any advice on developing it?', '2026-04-09 18:38:20'),
(353, 135, 2, 'The frame before the one I remember: I checked, and it is true.', '2026-04-11 20:12:42'),
(354, 136, 26, 'I started the violin at sixty. It is never too late, only a bit squeaky.', '2026-04-12 11:07:25'),
(355, 136, 37, 'I would come, and I would bring a chair.', '2026-04-14 12:34:26'),
(356, 136, 6, 'How cold was the garage? Ours does terrible things to the tuning.', '2026-04-15 04:29:50'),
(357, 136, 9, 'Where would you send a complete beginner first?', '2026-04-15 14:11:09'),
(358, 138, 18, 'Ha! Good to see somebody write about what did not work.', '2026-04-16 10:41:21'),
(359, 136, 30, 'A friend recommended your post, and now I understand why.', '2026-04-17 01:33:42'),
(360, 138, 20, 'What would you do differently, if you had to start over?', '2026-04-17 12:15:04'),
(361, 136, 13, 'It took me three attempts, but you were right.', '2026-04-20 06:00:18'),
(362, 135, 25, 'Is there a picture somewhere? I would love to see it.', '2026-04-25 14:06:40'),
(363, 138, 15, 'The margin notes are half of the reason that I buy used books.', '2026-04-26 23:28:08'),
(364, 139, 9, 'The line about error messages is going on our wiki.', '2026-04-27 19:50:04'),
(365, 139, 15, 'Which library do you use for the property tests?', '2026-04-28 03:56:30'),
(366, 138, 30, 'I never finish anything before page ninety either. Solidarity.', '2026-04-30 14:04:17'),
(367, 138, 22, 'I am going to print this and pin it above the desk.', '2026-04-30 21:42:19'),
(368, 139, 29, 'Hm, interesting. Strong disagree on comments, but the rest is spot on.', '2026-05-01 02:06:14'),
(369, 138, 23, 'Our club has the same rule, and somehow everybody finishes. I will try again on Sunday.', '2026-05-02 04:38:21'),
(370, 139, 24, 'Thank you for writing it down. I had to laugh at the second paragraph, because that was me last week. Curious what the others think.', '2026-05-02 05:00:14'),
(371, 140, 40, 'I did something similar in 2019 and still have not recovered. Anyway, keep going!', '2026-05-03 06:17:41'),
(372, 140, 19, 'My family finished the loaf before I could take a picture. 🍞', '2026-05-08 01:00:07'),
(373, 139, 22, 'Thank you for writing it down. Not sure that I agree, but you made me think about it on the way home.', '2026-05-10 23:25:16'),
(374, 138, 2, 'Which of the two translations would you give to a first-time reader? Merci!', '2026-05-11 02:05:29'),
(375, 140, 22, 'Reading this with a cup of tea was the best ten minutes of my day.', '2026-05-12 19:38:10'),
(376, 142, 32, 'So simple that I am slightly annoyed.', '2026-05-13 12:58:57'),
(377, 142, 26, 'Thanks for this. Reading this with a cup of tea was the best ten minutes of my day. Curious what the others think.', '2026-05-14 12:07:18'),
(378, 140, 24, 'What hydration is that, roughly? Mine stuck to everything. Will report back.', '2026-05-15 01:05:45'),
(379, 141, 1, 'I did something similar in 2019 and still have not recovered.', '2026-05-16 10:59:47'),
(380, 140, 38, 'Letting it cool is the hardest step in the whole recipe.', '2026-05-16 22:58:29'),
(381, 140, 18, 'The bit about patience is the part that everybody needs and nobody wants.', '2026-05-17 09:55:40'),
(382, 143, 30, 'Is the path along the lake open again after the flood?', '2026-05-22 09:19:12'),
(383, 142, 5, 'Ha! As a librarian: yes, we wait. It always works. 📚', '2026-05-23 01:57:27'),
(384, 144, 21, 'The trick with the cast-iron pot changed everything for me.', '2026-05-23 20:04:15'),
(385, 142, 20, 'Hm, interesting. The margin notes are half of the reason that I buy used books.', '2026-05-24 07:54:50'),
(386, 142, 8, 'Ha! Do you have a source for that? I would like to read on. Looking forward to the next one.', '2026-05-24 21:30:03'),
(387, 145, 24, 'Yes, exactly. Not sure that I agree, but you made me think about it on the way home.', '2026-05-26 20:45:47'),
(388, 141, 22, 'Ha! Took the same train and met half the village on it.', '2026-05-27 22:47:41'),
(389, 145, 33, 'Could you write a follow-up on what happened next? Maybe that is only me, though.', '2026-05-28 22:33:14'),
(390, 143, 13, 'Average speed is overrated. Bakeries per hour is the number to watch. Will report back.', '2026-05-30 16:15:48'),
(391, 142, 25, 'Oh, this is good. Our club has the same rule, and somehow everybody finishes.', '2026-06-01 06:29:54'),
(392, 144, 36, 'More of this, please, and more often.', '2026-06-02 16:45:35'),
(393, 145, 10, 'Ha! I grew the same variety and got three tomatoes. Three.', '2026-06-03 02:30:20'),
(394, 145, 40, 'Slugs do not cross copper tape, they say. Mine have not read that. Anyway, keep going!', '2026-06-04 14:35:01'),
(395, 143, 25, 'You make it sound easier than it is, and I mean that kindly.', '2026-06-05 07:26:50'),
(396, 144, 20, 'Lovely post. I would add a little more salt, but otherwise this is exactly how my mother did it.', '2026-06-05 07:34:08'),
(397, 146, 14, 'Ours is only ninety years old and already twice as stubborn. 😄', '2026-06-09 17:36:55'),
(398, 150, 23, 'I disagree with nearly all of it and enjoyed every line. Anyway, keep going!', '2026-06-25 18:00:32'),
(399, 150, 11, 'The frame before the one I remember: I checked, and it is true.', '2026-06-25 20:47:24'),
(400, 147, 5, 'A sequence that ran out! I thought that only happened in interviews.', '2026-06-30 22:42:00');
