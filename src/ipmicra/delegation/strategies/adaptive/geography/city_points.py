"""A country code -> a few places where its networks are likely to stand.

Facts of geography, to a tenth of a degree: the places that hold most of a country's people and
exchanges, the likeliest first; large countries have more of them. The registry says in which country a
range is registered, and with these points that becomes a guess at round trips before anything was
measured. Invariant: nothing here was taken from, or fitted to, latency data.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple


class CityPoint(NamedTuple):
    """One town of one country."""

    country: str
    name: str
    latitude: float
    longitude: float


# Lines of a country: its code, then "name latitude longitude" for each place, parted by commas.
TABLE = """
AD Andorra-la-Vella 42.5 1.5
AE Dubai 25.2 55.3, Abu-Dhabi 24.5 54.4
AF Kabul 34.5 69.2
AG St-Johns 17.1 -61.8
AI The-Valley 18.2 -63.1
AL Tirana 41.3 19.8
AM Yerevan 40.2 44.5
AO Luanda -8.8 13.2
AQ McMurdo -77.8 166.7
AR Buenos-Aires -34.6 -58.4, Cordoba -31.4 -64.2, Mendoza -32.9 -68.8
AS Pago-Pago -14.3 -170.7
AT Vienna 48.2 16.4, Graz 47.1 15.4, Innsbruck 47.3 11.4
AU Sydney -33.9 151.2, Melbourne -37.8 145.0, Brisbane -27.5 153.0, Perth -31.9 115.9
AU Adelaide -34.9 138.6
AW Oranjestad 12.5 -70.0
AX Mariehamn 60.1 19.9
AZ Baku 40.4 49.9
BA Sarajevo 43.9 18.4
BB Bridgetown 13.1 -59.6
BD Dhaka 23.8 90.4, Chittagong 22.3 91.8
BE Brussels 50.8 4.4
BF Ouagadougou 12.4 -1.5
BG Sofia 42.7 23.3, Varna 43.2 27.9
BH Manama 26.2 50.6
BI Bujumbura -3.4 29.4
BJ Cotonou 6.4 2.4
BL Gustavia 17.9 -62.9
BM Hamilton 32.3 -64.8
BN Bandar-Seri-Begawan 4.9 114.9
BO La-Paz -16.5 -68.1, Santa-Cruz -17.8 -63.2
BQ Kralendijk 12.1 -68.3
BR Sao-Paulo -23.6 -46.6, Rio-de-Janeiro -22.9 -43.2, Fortaleza -3.7 -38.5, Brasilia -15.8 -47.9
BR Porto-Alegre -30.0 -51.2, Curitiba -25.4 -49.3, Recife -8.1 -34.9, Manaus -3.1 -60.0
BS Nassau 25.1 -77.3
BT Thimphu 27.5 89.6
BW Gaborone -24.7 25.9
BY Minsk 53.9 27.6
BZ Belize-City 17.5 -88.2
CA Toronto 43.7 -79.4, Montreal 45.5 -73.6, Vancouver 49.3 -123.1, Calgary 51.0 -114.1
CA Winnipeg 49.9 -97.1, Halifax 44.6 -63.6
CC West-Island -12.2 96.8
CD Kinshasa -4.3 15.3, Lubumbashi -11.7 27.5
CF Bangui 4.4 18.6
CG Brazzaville -4.3 15.3
CH Zurich 47.4 8.5, Geneva 46.2 6.1
CI Abidjan 5.3 -4.0
CK Avarua -21.2 -159.8
CL Santiago -33.4 -70.7, Antofagasta -23.6 -70.4
CM Douala 4.0 9.7
CN Beijing 39.9 116.4, Shanghai 31.2 121.5, Guangzhou 23.1 113.3, Chengdu 30.7 104.1
CN Wuhan 30.6 114.3, Xian 34.3 108.9
CO Bogota 4.7 -74.1, Medellin 6.2 -75.6
CR San-Jose 9.9 -84.1
CU Havana 23.1 -82.4
CV Praia 14.9 -23.5
CW Willemstad 12.1 -68.9
CX Flying-Fish-Cove -10.4 105.7
CY Nicosia 35.2 33.4
CZ Prague 50.1 14.4, Brno 49.2 16.6
DE Frankfurt 50.1 8.7, Berlin 52.5 13.4, Munich 48.1 11.6, Hamburg 53.6 10.0, Dusseldorf 51.2 6.8
DE Nuremberg 49.5 11.1
DJ Djibouti 11.6 43.1
DK Copenhagen 55.7 12.6, Aarhus 56.2 10.2
DM Roseau 15.3 -61.4
DO Santo-Domingo 18.5 -69.9
DZ Algiers 36.8 3.1
EC Quito -0.2 -78.5, Guayaquil -2.2 -79.9
EE Tallinn 59.4 24.8
EG Cairo 30.0 31.2
EH Laayoune 27.2 -13.2
ER Asmara 15.3 38.9
ES Madrid 40.4 -3.7, Barcelona 41.4 2.2, Seville 37.4 -6.0
ET Addis-Ababa 9.0 38.7
EU Frankfurt 50.1 8.7, Amsterdam 52.4 4.9, London 51.5 -0.1, Paris 48.9 2.4, Milan 45.5 9.2
EU Warsaw 52.2 21.0
FI Helsinki 60.2 24.9, Oulu 65.0 25.5
FJ Suva -18.1 178.4
FK Stanley -51.7 -57.9
FM Palikir 6.9 158.2
FO Torshavn 62.0 -6.8
FR Paris 48.9 2.4, Marseille 43.3 5.4, Lyon 45.8 4.8, Strasbourg 48.6 7.8, Toulouse 43.6 1.4
GA Libreville 0.4 9.5
GB London 51.5 -0.1, Manchester 53.5 -2.2, Edinburgh 55.9 -3.2
GD St-Georges 12.1 -61.7
GE Tbilisi 41.7 44.8
GF Cayenne 4.9 -52.3
GG St-Peter-Port 49.5 -2.5
GH Accra 5.6 -0.2
GI Gibraltar 36.1 -5.4
GL Nuuk 64.2 -51.7
GM Banjul 13.5 -16.6
GN Conakry 9.6 -13.6
GP Pointe-a-Pitre 16.2 -61.5
GQ Malabo 3.8 8.8
GR Athens 38.0 23.7, Thessaloniki 40.6 22.9
GT Guatemala-City 14.6 -90.5
GU Hagatna 13.5 144.8
GW Bissau 11.9 -15.6
GY Georgetown 6.8 -58.2
HK Hong-Kong 22.3 114.2
HN Tegucigalpa 14.1 -87.2, San-Pedro-Sula 15.5 -88.0
HR Zagreb 45.8 16.0
HT Port-au-Prince 18.5 -72.3
HU Budapest 47.5 19.0
ID Jakarta -6.2 106.8, Surabaya -7.3 112.7, Medan 3.6 98.7
IE Dublin 53.3 -6.3
IL Tel-Aviv 32.1 34.8
IM Douglas 54.2 -4.5
IN Mumbai 19.1 72.9, Delhi 28.6 77.2, Chennai 13.1 80.3, Bangalore 13.0 77.6, Kolkata 22.6 88.4
IN Hyderabad 17.4 78.5
IO Diego-Garcia -7.3 72.4
IQ Baghdad 33.3 44.4, Erbil 36.2 44.0
IR Tehran 35.7 51.4, Tabriz 38.1 46.3, Shiraz 29.6 52.5
IS Reykjavik 64.1 -21.9
IT Milan 45.5 9.2, Rome 41.9 12.5, Palermo 38.1 13.4, Bari 41.1 16.9
JE St-Helier 49.2 -2.1
JM Kingston 18.0 -76.8
JO Amman 32.0 35.9
JP Tokyo 35.7 139.7, Osaka 34.7 135.5, Fukuoka 33.6 130.4, Sapporo 43.1 141.4
KE Nairobi -1.3 36.8, Mombasa -4.0 39.7
KG Bishkek 42.9 74.6
KH Phnom-Penh 11.6 104.9
KI Tarawa 1.4 173.0
KM Moroni -11.7 43.3
KN Basseterre 17.3 -62.7
KP Pyongyang 39.0 125.8
KR Seoul 37.6 127.0, Busan 35.2 129.1
KW Kuwait 29.4 48.0
KY George-Town 19.3 -81.4
KZ Almaty 43.2 76.9, Astana 51.2 71.4
LA Vientiane 18.0 102.6
LB Beirut 33.9 35.5
LC Castries 14.0 -61.0
LI Vaduz 47.1 9.5
LK Colombo 6.9 79.9
LR Monrovia 6.3 -10.8
LS Maseru -29.3 27.5
LT Vilnius 54.7 25.3
LU Luxembourg 49.6 6.1
LV Riga 56.9 24.1
LY Tripoli 32.9 13.2
MA Casablanca 33.6 -7.6, Rabat 34.0 -6.8
MC Monaco 43.7 7.4
MD Chisinau 47.0 28.9
ME Podgorica 42.4 19.3
MF Marigot 18.1 -63.1
MG Antananarivo -18.9 47.5
MH Majuro 7.1 171.4
MK Skopje 42.0 21.4
ML Bamako 12.6 -8.0
MM Yangon 16.9 96.2
MN Ulaanbaatar 47.9 106.9
MO Macau 22.2 113.5
MP Saipan 15.2 145.7
MQ Fort-de-France 14.6 -61.1
MR Nouakchott 18.1 -16.0
MS Brades 16.8 -62.2
MT Valletta 35.9 14.5
MU Port-Louis -20.2 57.5
MV Male 4.2 73.5
MW Lilongwe -14.0 33.8
MX Mexico-City 19.4 -99.1, Queretaro 20.6 -100.4, Monterrey 25.7 -100.3, Guadalajara 20.7 -103.3
MX Tijuana 32.5 -117.0
MY Kuala-Lumpur 3.1 101.7, Johor-Bahru 1.5 103.7
MZ Maputo -26.0 32.6
NA Windhoek -22.6 17.1
NC Noumea -22.3 166.5
NE Niamey 13.5 2.1
NF Kingston -29.1 168.0
NG Lagos 6.5 3.4, Abuja 9.1 7.4
NI Managua 12.1 -86.3
NL Amsterdam 52.4 4.9, Groningen 53.2 6.6
NO Oslo 59.9 10.8, Stavanger 59.0 5.7, Trondheim 63.4 10.4
NP Kathmandu 27.7 85.3
NR Yaren -0.5 166.9
NU Alofi -19.1 -169.9
NZ Auckland -36.8 174.8, Wellington -41.3 174.8, Christchurch -43.5 172.6
OM Muscat 23.6 58.5
PA Panama-City 9.0 -79.5
PE Lima -12.0 -77.0
PF Papeete -17.5 -149.6
PG Port-Moresby -9.5 147.2
PH Manila 14.6 121.0, Cebu 10.3 123.9
PK Karachi 24.9 67.0, Lahore 31.5 74.3, Islamabad 33.7 73.1
PL Warsaw 52.2 21.0, Poznan 52.4 16.9, Krakow 50.1 19.9, Gdansk 54.4 18.6
PM Saint-Pierre 46.8 -56.2
PN Adamstown -25.1 -130.1
PR San-Juan 18.5 -66.1
PS Ramallah 31.9 35.2
PT Lisbon 38.7 -9.1, Porto 41.2 -8.6
PW Koror 7.3 134.5
PY Asuncion -25.3 -57.6
QA Doha 25.3 51.5
RE Saint-Denis -20.9 55.5
RO Bucharest 44.4 26.1, Cluj 46.8 23.6
RS Belgrade 44.8 20.5
RU Moscow 55.8 37.6, St-Petersburg 59.9 30.3, Yekaterinburg 56.8 60.6, Novosibirsk 55.0 82.9
RU Samara 53.2 50.2, Rostov 47.2 39.7, Khabarovsk 48.5 135.1
RW Kigali -1.9 30.1
SA Riyadh 24.7 46.7, Jeddah 21.5 39.2, Dammam 26.4 50.1
SB Honiara -9.4 160.0
SC Victoria -4.6 55.5
SD Khartoum 15.5 32.6
SE Stockholm 59.3 18.1, Gothenburg 57.7 12.0, Malmo 55.6 13.0
SG Singapore 1.3 103.8
SH Jamestown -15.9 -5.7
SI Ljubljana 46.1 14.5
SJ Longyearbyen 78.2 15.6
SK Bratislava 48.1 17.1
SL Freetown 8.5 -13.2
SM San-Marino 43.9 12.4
SN Dakar 14.7 -17.4
SO Mogadishu 2.0 45.3
SR Paramaribo 5.9 -55.2
SS Juba 4.9 31.6
ST Sao-Tome 0.3 6.7
SV San-Salvador 13.7 -89.2
SX Philipsburg 18.0 -63.0
SY Damascus 33.5 36.3
SZ Mbabane -26.3 31.1
TC Cockburn-Town 21.5 -71.1
TD Ndjamena 12.1 15.0
TG Lome 6.1 1.2
TH Bangkok 13.8 100.5
TJ Dushanbe 38.6 68.8
TK Atafu -8.6 -172.5
TL Dili -8.6 125.6
TM Ashgabat 37.9 58.4
TN Tunis 36.8 10.2
TO Nukualofa -21.1 -175.2
TR Istanbul 41.0 29.0, Ankara 39.9 32.9, Izmir 38.4 27.1
TT Port-of-Spain 10.7 -61.5
TV Funafuti -8.5 179.2
TW Taipei 25.0 121.6
TZ Dar-es-Salaam -6.8 39.3
UA Kyiv 50.5 30.5, Kharkiv 50.0 36.2, Odesa 46.5 30.7, Lviv 49.8 24.0
UG Kampala 0.3 32.6
US Ashburn 39.0 -77.5, New-York 40.7 -74.0, Los-Angeles 34.1 -118.2, San-Jose 37.3 -121.9
US Chicago 41.9 -87.6, Dallas 32.8 -96.8, Miami 25.8 -80.2, Seattle 47.6 -122.3, Atlanta 33.7 -84.4
US Denver 39.7 -105.0, Phoenix 33.4 -112.1, Minneapolis 45.0 -93.3, Boston 42.4 -71.1
US Kansas-City 39.1 -94.6, Houston 29.8 -95.4, Salt-Lake-City 40.8 -111.9, Honolulu 21.3 -157.9
US Anchorage 61.2 -149.9
UY Montevideo -34.9 -56.2
UZ Tashkent 41.3 69.2
VA Vatican 41.9 12.5
VC Kingstown 13.2 -61.2
VE Caracas 10.5 -66.9, Maracaibo 10.6 -71.6
VG Road-Town 18.4 -64.6
VI Charlotte-Amalie 18.3 -64.9
VN Hanoi 21.0 105.8, Ho-Chi-Minh-City 10.8 106.7
VU Port-Vila -17.7 168.3
WF Mata-Utu -13.3 -176.2
WS Apia -13.8 -171.8
XK Pristina 42.7 21.2
YE Sanaa 15.4 44.2
YT Mamoudzou -12.8 45.2
ZA Johannesburg -26.2 28.0, Cape-Town -33.9 18.4, Durban -29.9 31.0
ZM Lusaka -15.4 28.3
ZW Harare -17.8 31.1
"""


def _places_of_line(line: str) -> tuple[CityPoint, ...]:
    country, towns = line.split(" ", 1)
    fields = [town.split() for town in towns.split(",")]
    return tuple(CityPoint(country, name, float(north), float(east)) for name, north, east in fields)


@cache
def places_by_country() -> dict[str, tuple[CityPoint, ...]]:
    """Every country's places, the likeliest first, countries in the table's order."""
    found: dict[str, tuple[CityPoint, ...]] = {}
    for line in TABLE.strip().splitlines():
        places = _places_of_line(line)
        found[places[0].country] = found.get(places[0].country, ()) + places
    return found
