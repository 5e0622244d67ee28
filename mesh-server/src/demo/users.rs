//! Who writes and reads the sample blog? Made-up people, in the order of their ids.

/// One row of `users`, but for its date.
pub(crate) struct Person {
    pub(crate) name: &'static str,
    pub(crate) email: &'static str,
    pub(crate) role: &'static str,
    pub(crate) bio: Option<&'static str>,
    pub(crate) manager: Option<i64>,
}

const fn person(
    name: &'static str,
    email: &'static str,
    role: &'static str,
    bio: &'static str,
    manager: i64,
) -> Person {
    Person {
        name,
        email,
        role,
        bio: if bio.is_empty() { None } else { Some(bio) },
        manager: if manager == 0 { None } else { Some(manager) },
    }
}

/// The first twenty write posts, the others read and comment. An empty bio is none, and so is manager 0.
#[rustfmt::skip]
pub(crate) const PEOPLE: [Person; 40] = [
    person("Ingrid Solheim", "ingrid.solheim@example.com", "admin", "Started this blog in a kitchen and never quite left it.", 0),
    person("Tobias Ferreira", "tobias@example.com", "admin", "Keeps the lights on. Writes about databases when they misbehave.", 1),
    person("Amara Okonkwo", "amara.okonkwo@example.com", "editor", "Editor for food and garden. Reads every draft twice.", 1),
    person("José Ángel Ibarra", "jose.ibarra@example.com", "editor", "Edits the outdoors pages, usually from a train.", 1),
    person("Mei-Lin Zhao", "meilin.zhao@example.com", "editor", "Software editor. Ask me about semicolons.", 2),
    person("Ruth Abernathy", "ruth.a@example.org", "editor", "", 1),
    person("Łukasz Wiśniewski", "lukasz.w@example.com", "author", "Home baker with one oven, two starters and no patience.", 3),
    person("Freya Lindqvist", "freya@example.org", "author", "Grows vegetables on a north-facing balcony out of spite. 🌱", 3),
    person("Dmitri Halloran", "dmitri.halloran@example.com", "author", "Writes Rust for a living and prose for fun.", 5),
    person("Priya Raghunathan", "priya.r@example.com", "author", "Database engineer. I like my queries boring.", 2),
    person("Sione Taufa", "sione.taufa@example.org", "author", "Walks slowly, carries too much tea.", 4),
    person("Élodie Marchetti", "elodie.marchetti@example.com", "author", "Bicycle mechanic, three days a week in the shop on the canal.", 4),
    person("Hannah Brückner", "hannah.brueckner@example.com", "author", "Translates novels and argues with dictionaries.", 6),
    person("Kwame Asante", "kwame.asante@example.org", "author", "Bass player. Former physics teacher.", 6),
    person("Noor van Dijk", "noor.vandijk@example.com", "author", "", 4),
    person("Callum Reyes", "callum.reyes@example.com", "author", "Restoring an 1890s terrace house, one surprise at a time.", 6),
    person("Yūko Tanabe", "yuko.tanabe@example.com", "author", "Film cameras, bread, and long walks between the two.", 3),
    person("Petra Novotná", "petra.novotna@example.org", "author", "Tests things until they break, then writes it down.", 5),
    person("Oluwaseun Bright", "seun.bright@example.com", "author", "", 6),
    person("Søren Kjeldsen", "soren.kjeldsen@example.com", "author", "Keeps bees, a compost heap and a grudge against slugs.", 3),
    person("Maya Goldberg", "maya.goldberg@example.com", "reader", "", 0),
    person("Kai 🌊", "kai@example.org", "reader", "Mostly at the beach.", 0),
    person("Ananya Bhatt", "ananya.bhatt@example.com", "reader", "Here for the bread, stayed for the SQL.", 0),
    person("Will Prendergast", "will.p@example.com", "reader", "", 0),
    person("Zsófia Kertész", "zsofia.kertesz@example.org", "reader", "Librarian in a small town with a large library.", 0),
    person("Diego Montalvo", "diego.montalvo@example.com", "reader", "Weekend cyclist, weekday accountant.", 0),
    person("Grace Mwangi", "grace.mwangi@example.com", "reader", "Garden first, everything else after.", 0),
    person("Tomasz O'Brien", "tomasz.obrien@example.com", "reader", "", 0),
    person("Leïla Benhaddou", "leila.b@example.org", "reader", "Learning the cello at fifty-one.", 0),
    person("Aiko Watanabe", "aiko.watanabe@example.com", "reader", "", 0),
    person("Ben Castellanos", "ben.castellanos@example.com", "reader", "Backend developer. Lurker, mostly.", 0),
    person("Fatima al-Rashid", "fatima.alrashid@example.org", "reader", "Two kids, one allotment, no free evenings.", 0),
    person("Göran Ek", "goran.ek@example.com", "reader", "Retired surveyor. I still look at every map. 🗺️", 0),
    person("Chloe Dubois-Hart", "chloe.dh@example.com", "reader", "", 0),
    person("Rafael Quintanilha", "rafael.q@example.com", "reader", "Night shift nurse who bakes in the morning.", 0),
    person("Siobhán Keane", "siobhan.keane@example.org", "reader", "Fiddle, mostly in tune.", 0),
    person("Viktor Petrov", "viktor.petrov@example.com", "reader", "", 0),
    person("Nadia Rahimi", "nadia.rahimi@example.com", "reader", "Carpenter's daughter, carpenter's mother.", 0),
    person("陳怡君 (Yi-Chun Chen)", "yichun.chen@example.org", "reader", "Street photographer in the rain.", 0),
    person("Óscar Bjarnason", "oscar.bjarnason@example.com", "reader", "Reads everything, comments seldom.", 0),
];
